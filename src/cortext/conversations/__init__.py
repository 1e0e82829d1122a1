"""Import paths that the documentation of 0.1.0 shows. The code is in `cortext.service.stores`."""
