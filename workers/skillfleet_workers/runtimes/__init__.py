"""Ways to run code. Every runtime takes a RunRequest and gives a ScriptExecution."""
