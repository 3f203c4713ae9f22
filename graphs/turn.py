"""The turn graph, as `langgraph dev` and a LangGraph server serve it; the vault is `AUTOMEMORY_VAULT`."""

from automemory.settings import load_settings

graph = load_settings().memory().graph
