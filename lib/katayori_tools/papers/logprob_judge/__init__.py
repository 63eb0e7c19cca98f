"""What only notebook 03 needs of the tools: how its simulations are drawn."""
