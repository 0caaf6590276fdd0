"""Steps of models on layouts, made of kernels and collectives, and the plan that ranks layouts."""
