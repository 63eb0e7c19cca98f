"""What only notebook 05 needs of the tools: proof-reading, and how its simulations are drawn."""
