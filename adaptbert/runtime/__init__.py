"""The life of a process: its command line, locks, signals, memory, workers and progress; decides no result."""
