"""What only notebook 04 needs of the tools: making cases, and how its simulations are drawn."""
