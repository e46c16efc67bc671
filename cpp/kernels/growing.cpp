// Growing, for both kinds of samples.
#include "hardwood/grower.hpp"

template class hardwood::Grower<hardwood::WholeSample>;
template class hardwood::Grower<hardwood::RealSample>;
