"""The program inside a sandbox, in which scripts run: stdlib only, for every Python from 3.9 on, never imported by
the worker but for `config` and `seccomp`. It imports little: what it loads, every run of a script is a copy of."""
