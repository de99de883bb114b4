// new_scenario: works on the host in each step while the device waits. Change `inject` to what yours does.
#include <pdhost/record.h>
#include <pdhost/scenario.h>
#include <pdhost/train.h>
#include <pdhost/truth.h>

#include <chrono>
#include <new>

namespace {

// The keys of [scenario]. The type of a row follows the type of its field: bool, int64_t, double or const char *.
struct options {
  double work_ms;
};

// The members of a row come in this order: .help, .def, .min, .max, .unit, .choices.
const pd_option rows[] = {
    PD_OPTION(options, work_ms, .help = "host work in each step", .def = "5", .min = "0", .max = "10_000",
              .unit = "ms"),
};

// Keys of the core that this scenario sets; the user's own settings win. The data stays on the device, so that loading
// and copying it do not hide what is injected.
const pd_preset presets[] = {{"data.resident", "device"}, {nullptr, nullptr}};

// What takes a cause out of this scenario: the verdict suggests it where it has found that cause.
const pd_cure cures[] = {{"host_compute", "scenario.work_ms=0"}, {nullptr, nullptr}};

class scenario {
public:
  // No exception may leave a callback: the host is written in C.
  static pd_status init(const pd_host *host, const void *opt, void **out) noexcept {
    const auto *train = static_cast<const pd_train *>(host->extension(host, PD_EXT_TRAIN));
    if (!train) return host->fail(host, PD_UNSUPPORTED, "this host has no training kit (%s)", PD_EXT_TRAIN);
    auto *self = new (std::nothrow) scenario(host, static_cast<const options *>(opt), train);
    if (!self) return host->fail(host, PD_NO_MEMORY, "no memory for the scenario's state");
    *out = self;
    return PD_OK;
  }

  // One training step. pd_train has its parts one by one, for a bottleneck between them.
  static pd_status step(void *state, const pd_step *at) noexcept {
    const auto *self = static_cast<const scenario *>(state);
    pd_status status = self->train_->step(self->train_, at);
    if (status != PD_OK || !pd_step_injects(at)) return status;
    pd_truth_asked(self->truth_, self->options_->work_ms * 1e3, 0);
    double loss = 0;
    status = self->train_->item(self->train_, &loss); // waits for the device, which then has nothing to do
    if (status == PD_OK) self->inject();
    return status;
  }

  static void teardown(void *state) noexcept { delete static_cast<scenario *>(state); }

private:
  scenario(const pd_host *host, const options *opt, const pd_train *train)
      : options_(opt), train_(train), record_(static_cast<const pd_record *>(host->extension(host, PD_EXT_RECORD))),
        truth_(static_cast<const pd_truth *>(host->extension(host, PD_EXT_TRUTH))) {}

  // The bottleneck. pd_truth_begin and pd_truth_end measure it, for truth.json; the range shows it in the trace.
  void inject() const {
    static pd_site site = PD_SITE("new_scenario", PD_RANGE_USER);
    using clock = std::chrono::steady_clock;
    const bool begun = record_ && pd_range_begin(record_, &site, nullptr);
    pd_truth_begin(truth_);
    const auto end = clock::now() + std::chrono::duration<double, std::milli>(options_->work_ms);
    while (clock::now() < end) {} // a sleep would give the core away
    pd_truth_end(truth_, 1);
    if (record_) pd_range_end(record_, begun);
  }

  const options *options_;
  const pd_train *train_;
  const pd_record *record_; // null: this host records nothing
  const pd_truth *truth_;   // null: this host writes no truth.json
};

} // namespace

PD_SCENARIO("new_scenario", "1.0", "the host works in each step while the device waits", options, rows,
            .whole_step = 1, .bottleneck = "host_compute", .presets = presets, .init = scenario::init,
            .step = scenario::step, .teardown = scenario::teardown, .cures = cures)
