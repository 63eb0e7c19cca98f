"""What only notebook 05 needs of the tools: how its simulations are drawn."""
