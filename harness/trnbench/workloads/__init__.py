"""Models, layouts and jobs: what a step computes, sends and keeps, before anything is timed."""
