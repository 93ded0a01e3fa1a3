"""What a load takes, by simulation: workers, processes, database, store, and the part that breaks first."""
