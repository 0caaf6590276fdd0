"""A long campaign of kills, writers and inputs: `python -m tests.campaign`."""
