"""Coding agents' hooks: what their host tells us of a session goes into the vault while it goes on."""
