#include "hardwood/criteria/from_loss.hpp"

#include "hardwood/sum_scan.hpp"

template std::unique_ptr<hardwood::CutScan<hardwood::WholeSample>> hardwood::make_sum_scan(
    const FromLoss&, std::unique_ptr<CutScan<WholeSample>>, std::size_t);
