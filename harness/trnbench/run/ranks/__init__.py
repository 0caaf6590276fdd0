"""One run on several machines at once, started by torchrun, mpirun or srun: every rank measures every case,
rank 0 records. Ranks meet over TCP with Python alone; what travels is JSON, never code."""
