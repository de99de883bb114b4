// new_sink: writes one line per step of each recorded window. Change `write_steps` to what yours writes.
#include <pdhost/sink.h>

#include <exception>
#include <new>
#include <string>

namespace {

// The keys of [sink.new_sink]. The key of a folder, which sinks may share, ends in `dir`.
struct options {
  int64_t min_ns;
};

// The members of a row come in this order: .help, .def, .min, .max, .unit, .choices.
const pd_option rows[] = {
    PD_OPTION_DURATION(options, min_ns, .help = "leave out steps that are shorter", .def = "0", .min = "0",
                       .unit = "ns"),
};

class sink {
public:
  // No exception may leave a callback: the host is written in C.
  static pd_status open(const pd_host *host, const void *opt, const pd_run *run, void **out) noexcept {
    const auto *files = static_cast<const pd_files *>(host->extension(host, PD_EXT_FILES));
    if (!files) return host->fail(host, PD_UNSUPPORTED, "this host has no files (%s)", PD_EXT_FILES);
    auto *self = new (std::nothrow) sink(host, static_cast<const options *>(opt), run, files);
    if (!self) return host->fail(host, PD_NO_MEMORY, "no memory for the sink's state");
    *out = self;
    return PD_OK;
  }

  // After each finished window. The trace is the host's: keep no pointer into it.
  static pd_status on_trace_ready(void *state, const pd_trace *trace) noexcept {
    const auto *self = static_cast<const sink *>(state);
    try {
      return self->write_window(trace);
    } catch (const std::exception &failure) {
      return self->host_->fail(self->host_, PD_NO_MEMORY, "the window cannot be written: %s", failure.what());
    }
  }

  // `summary` is null where the sink failed before: then free, and no more.
  static pd_status close(void *state, const pd_summary *summary) noexcept {
    (void)summary;
    delete static_cast<sink *>(state);
    return PD_OK;
  }

private:
  sink(const pd_host *host, const options *opt, const pd_run *run, const pd_files *files)
      : host_(host), options_(opt), run_(run), files_(files) {}

  std::string write_steps(const pd_trace *trace) const {
    std::string text;
    for (uint64_t i = 0; i < trace->steps.count; i++) {
      const auto *row = PD_AT(pd_trace_step, &trace->steps, i);
      const int64_t length_ns = row->end_ns - row->start_ns; // the wait for its batch included
      if (length_ns < options_->min_ns) continue;
      text += std::to_string(row->number) + "\t" + std::to_string(length_ns) + "\n";
    }
    return text;
  }

  pd_status write_window(const pd_trace *trace) const {
    const std::string path = std::string(run_->trace_dir) + "/new_sink_" + std::to_string(trace->window) + ".tsv";
    const std::string text = write_steps(trace); // before the file is open: it may throw
    pd_file *file = nullptr;
    pd_status status = files_->open(files_, path.c_str(), &file);
    if (status != PD_OK) return status;
    status = files_->write(file, text.data(), text.size());
    const pd_status done = files_->commit(file); // a file whose write failed is removed
    if (status == PD_OK) status = done;
    if (status == PD_OK) files_->announce(files_, path.c_str());
    return status;
  }

  const pd_host *host_;
  const options *options_;
  const pd_run *run_; // what is known before the first step; valid until close returns
  const pd_files *files_;
};

} // namespace

PD_SINK("new_sink", "1.0", "one line per step of each window", options, rows, .open = sink::open,
        .on_trace_ready = sink::on_trace_ready, .close = sink::close)
