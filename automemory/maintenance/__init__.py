"""Looking after a vault by command: a person's corrections, checks and repairs."""
