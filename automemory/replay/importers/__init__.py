"""Readers of saved conversations, one module a format; `registry` has them all."""
