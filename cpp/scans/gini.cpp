#include "hardwood/criteria/gini.hpp"

#include "hardwood/sum_scan.hpp"

template std::unique_ptr<hardwood::CutScan<hardwood::WholeSample>> hardwood::make_sum_scan(
    const Gini&, std::unique_ptr<CutScan<WholeSample>>, std::size_t);
