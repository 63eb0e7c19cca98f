"""What only notebook 04 needs of the tools: how its simulations are drawn."""
