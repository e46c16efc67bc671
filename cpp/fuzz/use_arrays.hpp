// What is done with the arrays of a model file: they are refused, or all that the predictor and
// the expansion of trees do with them stays inside them and gives probabilities.
#pragma once

#include "stored_arrays.hpp"

namespace hardwood::fuzz {

// Returns whether the arrays are a forest. Ends the process if one does not work.
bool use(const StoredArrays& arrays);

}  // namespace hardwood::fuzz
