// A criterion whose type is not known to the caller.
//
// Growing, expanding and pruning see criteria only through this class, so they are compiled once.
// What is called for every sample, the scan of a feature's cuts, is the criterion's own code: a
// SumScan (sum_scan.hpp), compiled once for each criterion and instruction set.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "hardwood/criterion.hpp"
#include "hardwood/sample.hpp"

namespace hardwood {

template <class Sample>
class CutScan;
class CutBatch;

// The numbers of a split node and of its children among some nodes.
struct SplitNumbers {
  std::size_t parent, left, right;
};

class AnyCriterion {
 public:
  virtual ~AnyCriterion() = default;

  virtual double score(Counts left, Counts right) const = 0;
  virtual double gain(Counts parent, Counts left, Counts right) const = 0;

  // The same for many at once: a criterion that calls a user's function does so once for all.
  virtual std::size_t cuts_at_once() const = 0;
  virtual void score(const CutBatch& cuts, std::span<double> scores) const = 0;
  virtual void describe(std::span<const Counts> nodes, std::span<const SplitNumbers> splits,
                        std::span<double> impurities, std::span<double> gains) const = 0;

  // Replaces a leaf's class counts by the prediction of smallest risk, up to a factor. Only for
  // criteria whose record says that there is one.
  virtual void predict_optimally(std::span<double> counts) const = 0;

  // The scan for whole counts; null where sums do not suffice.
  virtual std::unique_ptr<CutScan<WholeSample>> sum_scan(std::size_t n_classes) const = 0;
};

struct ImpurityTable;  // criteria/from_loss.hpp

// Writes down the impurities of the rows of p, [row][class], one for each.
using ImpurityFunction =
    std::function<void(std::span<const double> p, std::size_t n_classes, std::span<double> out)>;

// A criterion as the caller names it.
struct CriterionSpec {
  std::string_view name;
  std::vector<double> parameters = {};         // in the order of its record
  const ImpurityTable* table = nullptr;        // of "from_loss"
  const ImpurityFunction* function = nullptr;  // of "custom_impurity"
};

// Throws std::invalid_argument if there is no such criterion, or a parameter is out of range.
std::unique_ptr<AnyCriterion> make_criterion(const CriterionSpec& spec, const FitContext& context);

}  // namespace hardwood
