/* See envelope.h. Keys and their order are Kineto's. */
#include "envelope.h"

#include "../lib/json_writer.h"

#include <pdhost/loss_names.h>

#include <stdio.h>

/* Above every process id that Linux gives, and small enough for readers with 32 bits. */
enum { HOST_OFFSET = 1 << 22, SMALL_PID = 64 };

/* Beyond a minute a reader takes the window's end for a stray event and drops it. */
#define LONGEST_WITH_END_NS INT64_C(60000000000)

static bool is_track(const pd_trace *trace, uint32_t tid) {
  if (tid == OVERHEAD_PID || tid == CONTEXT_SYNC_TRACK) return true;
  for (uint64_t i = 0; i < trace->streams.count; i++) {
    const uint32_t stream = event_stream_track(PD_AT(pd_stream_row, &trace->streams, i)->stream);
    if (tid == stream || tid == stream + SYNC_TRACK) return true;
    const uint32_t beyond = tid - stream - LANE_TRACK; /* wraps below it */
    if (beyond % SYNC_TRACK == 0 && beyond / SYNC_TRACK < LANES - 1) return true;
  }
  return false;
}

uint32_t envelope_host_offset(const pd_trace *trace) {
  if (trace->pid < SMALL_PID) return HOST_OFFSET;
  for (uint64_t i = 0; i < trace->threads.count; i++)
    if (is_track(trace, PD_AT(pd_thread, &trace->threads, i)->tid)) return HOST_OFFSET;
  return 0;
}

/* ---- before the events ---- */

static void number(json_writer *json, const char *key, uint64_t value) {
  json_key(json, key);
  json_u64(json, value);
}

/* A CPU device has a name and nothing else that a GPU's reader could use. */
static void device_properties(json_writer *json, const pd_device_props *props) {
  json_key(json, "deviceProperties");
  json_begin_array(json);
  if (props) {
    json_begin_object(json);
    number(json, "id", props->index);
    json_key(json, "name");
    json_string(json, props->name);
    if (props->is_cuda) {
      number(json, "totalGlobalMem", props->total_bytes);
      number(json, "computeMajor", props->compute_major);
      number(json, "computeMinor", props->compute_minor);
      number(json, "maxThreadsPerBlock", props->max_threads_per_block);
      number(json, "maxThreadsPerMultiprocessor", props->max_threads_per_sm);
      number(json, "regsPerBlock", props->registers_per_block);
      number(json, "warpSize", props->warp_size);
      number(json, "sharedMemPerBlock", props->shared_per_block);
      number(json, "numSms", props->sm_count);
      number(json, "regsPerMultiprocessor", props->registers_per_sm);
      number(json, "sharedMemPerBlockOptin", props->shared_per_block_optin);
      number(json, "sharedMemPerMultiprocessor", props->shared_per_sm);
    }
    json_end_object(json);
  }
  json_end_array(json);
}

static void trace_id(json_writer *json, const pd_run *run, const pd_trace *trace) {
  char text[40];
  const int length = snprintf(text, sizeof text, "%016llX%08X%08X", (unsigned long long)run->start_realtime_ns,
                              run->pid, trace->window);
  json_key(json, "trace_id");
  json_string_of(json, text, (size_t)length);
}

static void header(event_writer *writer) {
  const pd_run *run = writer->run;
  const pd_trace *trace = writer->trace;
  const pd_device_props *props = trace->device ? trace->device : run->device;
  static const char begin[] = "{\n\"schemaVersion\": 1,\n";
  json_writer json;
  text_out_literal(writer->out, begin);
  json_open(&json, writer->out, 1);
  json.objects = 1u << 1;
  json.depth = 1; /* inside the object begun above */
  device_properties(&json, props);
  /* The analysers look for the rank line by line, with a blank after the colon. */
  char ranks[128];
  const int bytes = snprintf(ranks, sizeof ranks,
                             ",\n \"distributedInfo\": {\"backend\": \"%s\", \"rank\": %u, "
                             "\"world_size\": %u}",
                             run->backend ? run->backend : "nccl", run->rank, run->ranks ? run->ranks : 1);
  text_out_bytes(writer->out, ranks, (size_t)bytes);
  if (run->profile_memory) number(&json, "profile_memory", 1);
  if (run->with_stack) number(&json, "with_stack", 1);
  if (run->record_shapes) number(&json, "record_shapes", 1);
  if (run->with_modules) number(&json, "with_modules", 1);
  if (run->with_flops) number(&json, "with_flops", 1);
  if (props && props->is_cuda) {
    number(&json, "cupti_version", props->cupti_version);
    number(&json, "cuda_runtime_version", props->runtime_version);
    number(&json, "cuda_driver_version", props->driver_version);
  }
  trace_id(&json, run, trace);
  json_key(&json, "host_name");
  json_string(&json, run->host_name);
  json_key(&json, "displayTimeUnit");
  json_string(&json, "ms");
  json_key(&json, "baseTimeNanoseconds");
  json_i64(&json, trace->base_ns);
  text_out_literal(writer->out, ",\n\"traceEvents\": [\n");
}

static void name_process(event_writer *writer, uint32_t pid, const char *name, const char *label, uint64_t order) {
  event_metadata_text(writer, "process_name", pid, 0, "name", name);
  if (label) event_metadata_text(writer, "process_labels", pid, 0, "labels", label);
  event_metadata_number(writer, "process_sort_index", pid, 0, "sort_index", order);
}

static void name_thread(event_writer *writer, uint32_t pid, uint32_t tid, const char *name) {
  event_metadata_text(writer, "thread_name", pid, tid, "name", name);
  event_metadata_number(writer, "thread_sort_index", pid, tid, "sort_index", tid);
}

static void name_host(event_writer *writer) {
  const pd_trace *trace = writer->trace;
  const uint32_t pid = trace->pid + writer->host_offset;
  char text[256];
  snprintf(text, sizeof text, "pdhost (%s)", writer->run->scenario);
  name_process(writer, pid, text, "CPU", pid);
  for (uint32_t i = 0; i < trace->threads.count; i++) {
    const pd_thread *thread = PD_AT(pd_thread, &trace->threads, i);
    snprintf(text, sizeof text, "thread %u (%.200s)", thread->tid, pd_trace_string(trace, thread->name)->text);
    name_thread(writer, pid, event_tid(writer, i), text);
  }
}

static bool first_of_device(const pd_trace *trace, uint64_t s) {
  for (uint64_t k = 0; k < s; k++)
    if (PD_AT(pd_stream_row, &trace->streams, k)->device == PD_AT(pd_stream_row, &trace->streams, s)->device)
      return false;
  return true;
}

static void name_streams(event_writer *writer, const event_index *index) {
  const pd_trace *trace = writer->trace;
  const pd_device_props *props = trace->device ? trace->device : writer->run->device;
  char text[256], label[32];
  for (uint64_t s = 0; s < trace->streams.count; s++) {
    const pd_stream_row *stream = PD_AT(pd_stream_row, &trace->streams, s);
    if (first_of_device(trace, s)) {
      snprintf(label, sizeof label, props && !props->is_cuda ? "device %u" : "GPU %u", stream->device);
      if (props && !props->is_cuda)
        snprintf(text, sizeof text, "%.200s", props->name);
      else
        snprintf(text, sizeof text, "GPU %u (%.200s)", stream->device, props ? props->name : "unknown");
      name_process(writer, stream->device, text, label, UINT64_C(5000000) + stream->device);
    }
    const uint32_t track = event_stream_track(stream->stream);
    char name[32] = "unknown stream";
    if (stream->stream != PD_STREAM_UNKNOWN) snprintf(name, sizeof name, "stream %u", stream->stream);
    snprintf(text, sizeof text, "%s ", name);
    name_thread(writer, stream->device, track, text);
    for (uint32_t lane = 1; lane < index->lanes_used[s]; lane++) {
      snprintf(text, sizeof text, "%s (overlapping, %u)", name, lane);
      name_thread(writer, stream->device, track + LANE_TRACK + (lane - 1) * SYNC_TRACK, text);
    }
  }
}

static bool is_context_wait(const pd_trace *trace, uint64_t i) {
  const pd_other_row *row = PD_AT(pd_other_row, &trace->others, i);
  return row->kind == PD_ACTIVITY_SYNC && !event_index_stream(trace, row);
}

/* Waits for whole contexts have a track per device. */
static void name_context_waits(event_writer *writer) {
  const pd_trace *trace = writer->trace;
  for (uint64_t i = 0; i < trace->others.count; i++) {
    if (!is_context_wait(trace, i)) continue;
    const uint32_t device = event_index_device(trace, PD_AT(pd_other_row, &trace->others, i));
    bool named = false;
    for (uint64_t k = i; k-- > 0 && !named;)
      named = is_context_wait(trace, k) && event_index_device(trace, PD_AT(pd_other_row, &trace->others, k)) == device;
    if (!named) name_thread(writer, device, CONTEXT_SYNC_TRACK, "context (sync)");
  }
}

static void name_others(event_writer *writer, const event_index *index) {
  const pd_trace *trace = writer->trace;
  bool overhead = false;
  char text[64];
  for (uint64_t i = 0; i < trace->others.count && !overhead; i++)
    overhead = PD_AT(pd_other_row, &trace->others, i)->kind == PD_ACTIVITY_OVERHEAD;
  for (uint64_t s = 0; s < trace->streams.count; s++) {
    const pd_stream_row *stream = PD_AT(pd_stream_row, &trace->streams, s);
    if (!index->stream_waits[s]) continue;
    snprintf(text, sizeof text, "stream %u (sync)", stream->stream);
    name_thread(writer, stream->device, stream->stream + SYNC_TRACK, text);
  }
  name_context_waits(writer);
  if (overhead) {
    name_process(writer, OVERHEAD_PID, "CUPTI Overhead", NULL, OVERHEAD_PID);
    name_thread(writer, OVERHEAD_PID, OVERHEAD_PID, "overhead");
  }
}

void envelope_begin(event_writer *writer, const event_index *index) {
  header(writer);
  name_host(writer);
  name_streams(writer, index);
  name_others(writer, index);
}

/* ---- after the events ---- */

static void mark(event_writer *writer, const char *name, const char *pid, const char *tid, int64_t ts_ns) {
  text_out *out = writer->out;
  text_out_literal(out, ",\n{\"name\":\"");
  text_out_text(out, name);
  text_out_literal(out, "\",\"ph\":\"i\",\"s\":\"g\",\"pid\":\"");
  text_out_text(out, pid);
  text_out_literal(out, "\",\"tid\":\"");
  text_out_text(out, tid);
  text_out_literal(out, "\",\"ts\":");
  text_out_us(out, ts_ns);
  text_out_literal(out, "}");
  writer->events++;
}

/* The extent of this part: the window's where the part is its first or last, and what runs on after it. */
static void span(event_writer *writer) {
  const pd_trace *trace = writer->trace;
  const int64_t start_ns = writer->from_ns == INT64_MIN ? trace->start_ns : writer->from_ns;
  const int64_t part_ns = writer->to_ns == INT64_MAX ? trace->end_ns : writer->to_ns;
  const int64_t end_ns = part_ns > writer->last_ns ? part_ns : writer->last_ns;
  text_out *out = writer->out;
  text_out_literal(out, ",\n{\"ph\":\"X\",\"cat\":\"Trace\",\"name\":\"PyTorch Profiler (0)\",\"pid\":\"Spans\","
                        "\"tid\":\"PyTorch Profiler\",\"ts\":");
  text_out_us(out, start_ns);
  text_out_literal(out, ",\"dur\":");
  text_out_us(out, end_ns - start_ns);
  text_out_literal(out, ",\"args\":{\"Op count\":");
  text_out_u64(out, writer->operations);
  text_out_literal(out, "}}");
  text_out_literal(out, ",\n{\"name\":\"process_sort_index\",\"ph\":\"M\",\"ts\":");
  text_out_us(out, start_ns);
  text_out_literal(out, ",\"pid\":\"Spans\",\"tid\":0,\"args\":{\"sort_index\":536870912}}");
  writer->events += 2;
  mark(writer, "Iteration Start: PyTorch Profiler", "Traces", "Trace PyTorch Profiler", start_ns);
  if (end_ns - start_ns < LONGEST_WITH_END_NS) mark(writer, "Record Window End", "", "", end_ns);
}

/* Each at its place, in the file that holds it. */
static void loss_marks(event_writer *writer) {
  const pd_trace *trace = writer->trace;
  const uint64_t count = PD_HAS(pd_trace, trace, loss_rows) ? trace->loss_rows.count : 0;
  for (uint64_t i = 0; i < count; i++) {
    const pd_loss_row *row = PD_AT(pd_loss_row, &trace->loss_rows, i);
    char quoted[160];
    if (row->loss >= PD_LOSS_COUNT || !event_in_part(writer, row->start_ns)) continue;
    const int length =
        snprintf(quoted, sizeof quoted, "\"lost: %llu %s\"", (unsigned long long)row->count, pd_loss_text(row->loss));
    const name_text name = {quoted, (size_t)length};
    char *at = EVENT_BEGIN(writer, "{\"ph\":\"i\",\"cat\":\"pdhost\",\"s\":\"g\",\"name\":", &name);
    at = event_host_ids(writer, at, trace->pid + writer->host_offset);
    at = event_ts(at, row->start_ns);
    at = EVENT_PUT(at, ",\"args\":{\"count\":");
    at = digits_u64(at, row->count);
    at = EVENT_PUT(at, ",\"until_us\":");
    at = digits_us(at, row->end_ns);
    *at++ = '}';
    event_end(writer, at);
  }
}

static void own_keys(event_writer *writer, const event_index *index, const char *path) {
  static const char *const profiles[] = {"none", "full", "events"};
  const pd_run *run = writer->run;
  const pd_trace *trace = writer->trace;
  json_writer json;
  json_open(&json, writer->out, 2);
  text_out_literal(writer->out, "\n],\n\"pdhost\": ");
  json_begin_object(&json);
  json_key(&json, "version");
  json_string(&json, run->pdhost_version);
  json_key(&json, "scenario");
  json_string(&json, run->scenario);
  json_key(&json, "command_line");
  json_string(&json, run->command_line);
  number(&json, "window", trace->window);
  if (PD_HAS(pd_trace, trace, partial) && trace->partial) number(&json, "partial", 1);
  if (PD_HAS(pd_trace, trace, paused_ns) && trace->paused_ns) number(&json, "paused_ns", (uint64_t)trace->paused_ns);
  json_key(&json, "coverage");
  json_double(&json, pd_trace_coverage(trace));
  json_key(&json, "profile");
  json_string(&json, trace->profile < 3 ? profiles[trace->profile] : "unknown");
  json_key(&json, "profile_note");
  json_string(&json, trace->profile_note);
  json_key(&json, "device_versions");
  json_string(&json, run->device ? run->device->versions : NULL);
  number(&json, "host_id_offset", writer->host_offset);
  number(&json, "clipped_slices", writer->clipped + index->too_deep);
  number(&json, "overlapping_slices", index->crowded);
  number(&json, "events", writer->events);
  json_key(&json, "lost");
  json_begin_object(&json);
  for (uint32_t i = 0; i < PD_LOSS_COUNT; i++) number(&json, pd_loss_name(i), trace->losses[i]);
  json_end_object(&json);
  number(&json, "corrected_ns", PD_HAS(pd_trace, trace, corrected_ns) ? (uint64_t)trace->corrected_ns : 0);
  number(&json, "unrecorded_ns", PD_HAS(pd_trace, trace, unrecorded_ns) ? (uint64_t)trace->unrecorded_ns : 0);
  json_key(&json, "configuration");
  json_begin_object(&json);
  for (uint64_t i = 0; i < run->settings.count; i++) {
    const pd_setting *setting = PD_AT(pd_setting, &run->settings, i);
    char key[256];
    snprintf(key, sizeof key, "%s.%s", setting->section, setting->key);
    json_key(&json, key);
    json_string(&json, setting->value);
  }
  json_end_object(&json);
  json_end_object(&json);
  text_out_literal(writer->out, ",\n\"traceName\": ");
  json_open(&json, writer->out, 0);
  json_string(&json, path);
  text_out_literal(writer->out, "\n}\n");
}

void envelope_end(event_writer *writer, const event_index *index, const char *path) {
  loss_marks(writer);
  span(writer);
  own_keys(writer, index, path);
}
