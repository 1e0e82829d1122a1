"""The HTTP service. `service.py` puts it together, `guard.py` says who may ask at all, `posting.py`
answers what is asked most and `routes.py` the rest; `serving.py` runs it. Only these import
litestar and uvicorn."""
