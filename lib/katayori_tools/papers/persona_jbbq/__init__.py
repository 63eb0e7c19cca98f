"""What only notebook 02 needs of the tools: how its simulations are drawn."""
