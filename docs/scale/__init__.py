"""How workkit scales: a cost model, its measured points, and a simulation. `python -m docs.scale` writes the tables."""
