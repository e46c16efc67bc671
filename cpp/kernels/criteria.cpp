// Criteria behind one face (any_criterion.hpp).
#include "hardwood/criteria.hpp"

#include <memory>
#include <span>
#include <stdexcept>
#include <utility>
#include <vector>

#include "hardwood/any_criterion.hpp"
#include "hardwood/cut_scan.hpp"

namespace hardwood {

// Defined by sum_scan.hpp and instantiated in scans/.
template <SummedCriterion C>
std::unique_ptr<CutScan<WholeSample>> make_sum_scan(const C& criterion,
                                                    std::unique_ptr<CutScan<WholeSample>> by_counts,
                                                    std::size_t n_classes);

namespace {

// A criterion that is asked about many nodes at once: risks(counts) are those of nodes whose class
// counts stand one after the other.
template <class C>
concept BatchedCriterion = Criterion<C> && requires(const C& c, std::span<const double> counts) {
  { c.risks(counts) } -> std::same_as<std::vector<double>>;
};

template <Criterion C>
class Erased final : public AnyCriterion {
 public:
  explicit Erased(C criterion) : criterion_(std::move(criterion)) {}

  double score(Counts left, Counts right) const override { return criterion_.score(left, right); }
  double gain(Counts parent, Counts left, Counts right) const override {
    return criterion_.gain(parent, left, right);
  }

  // A call of a function costs more than many cuts; without one, cuts stay in the cache.
  std::size_t cuts_at_once() const override { return BatchedCriterion<C> ? 1 << 14 : 1 << 6; }

  void score(const CutBatch& cuts, std::span<double> scores) const override {
    if constexpr (BatchedCriterion<C>) {
      const std::vector<double> risks = criterion_.risks(cuts.counts());
      for (std::size_t j = 0; j < scores.size(); ++j)
        scores[j] = -(risks[2 * j] + risks[2 * j + 1]);
    } else {
      for (std::size_t j = 0; j < scores.size(); ++j)
        scores[j] = criterion_.score(cuts.left(j), cuts.right(j));
    }
  }

  void describe(std::span<const Counts> nodes, std::span<const SplitNumbers> splits,
                std::span<double> impurities, std::span<double> gains) const override {
    if constexpr (BatchedCriterion<C>) {
      std::vector<double> counts;
      for (const Counts& node : nodes)
        counts.insert(counts.end(), node.of_class.begin(), node.of_class.end());
      const std::vector<double> risks = criterion_.risks(counts);
      for (std::size_t i = 0; i < nodes.size(); ++i) impurities[i] = risks[i] / nodes[i].n;
      for (std::size_t i = 0; i < splits.size(); ++i) {
        const auto [parent, left, right] = splits[i];
        gains[i] = criterion_.gain(nodes[parent].n, risks[parent], risks[left], risks[right]);
      }
    } else {
      for (std::size_t i = 0; i < nodes.size(); ++i) impurities[i] = criterion_.impurity(nodes[i]);
      for (std::size_t i = 0; i < splits.size(); ++i)
        gains[i] =
            criterion_.gain(nodes[splits[i].parent], nodes[splits[i].left], nodes[splits[i].right]);
    }
  }

  void predict_optimally(std::span<double> counts) const override {
    if constexpr (HasOptimalLeaf<C>)
      criterion_.predict_optimally(counts);
    else
      throw std::invalid_argument("this criterion has no optimal leaf");
  }

  std::unique_ptr<CutScan<WholeSample>> sum_scan(std::size_t n_classes) const override {
    if constexpr (SummedCriterion<C>) {
      if (!criterion_.can_sum()) return nullptr;
      auto by_counts = std::make_unique<CountScan<WholeSample>>(*this, n_classes);
      if constexpr (requires { typename C::ScannedAs; })
        return make_sum_scan<typename C::ScannedAs>(criterion_, std::move(by_counts), n_classes);
      else
        return make_sum_scan(criterion_, std::move(by_counts), n_classes);
    } else {
      return nullptr;
    }
  }

 private:
  const C criterion_;
};

template <class... C>
std::vector<ListedCriterion> listed(TypeList<C...>) {
  return {{C::record(), HasOptimalLeaf<C>}...};
}

}  // namespace

std::unique_ptr<AnyCriterion> make_criterion(const CriterionSpec& spec, const FitContext& context) {
  return with_criterion(spec, context,
                        []<class C>(const C& criterion) -> std::unique_ptr<AnyCriterion> {
                          return std::make_unique<Erased<C>>(criterion);
                        });
}

std::vector<ListedCriterion> list_criteria() { return listed(AllCriteria{}); }

}  // namespace hardwood
