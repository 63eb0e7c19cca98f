"""What only notebook 01 needs of the tools: how its simulations are drawn."""
