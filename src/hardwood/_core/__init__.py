"""Between the estimators and the engine: data, growing, compact trees."""
