/* The layout of ABI 1.0. Written at the release and never edited: a line that no longer holds is a broken ABI. */
#include <pdhost/sink.h>
#include <pdhost/train.h>

#define AT(T, field, offset) _Static_assert(offsetof(T, field) == (offset), #T "." #field " has moved")

AT(pd_option, key, 0);
AT(pd_option, help, 8);
AT(pd_option, def, 16);
AT(pd_option, min, 24);
AT(pd_option, max, 32);
AT(pd_option, unit, 40);
AT(pd_option, choices, 48);
AT(pd_option, offset, 56);
AT(pd_option, type, 60);

AT(pd_host, size, 0);
AT(pd_host, abi_major, 4);
AT(pd_host, abi_minor, 6);
AT(pd_host, impl, 8);
AT(pd_host, extension, 16);
AT(pd_host, fail, 24);
AT(pd_host, log, 32);

AT(pd_scenario_ops, size, 0);
AT(pd_scenario_ops, reserved, 4);
AT(pd_scenario_ops, bottleneck, 8);
AT(pd_scenario_ops, presets, 16);
AT(pd_scenario_ops, init, 24);
AT(pd_scenario_ops, step, 32);
AT(pd_scenario_ops, teardown, 40);

AT(pd_sink_ops, size, 0);
AT(pd_sink_ops, reserved, 4);
AT(pd_sink_ops, open, 8);
AT(pd_sink_ops, on_step, 16);
AT(pd_sink_ops, on_trace_ready, 24);
AT(pd_sink_ops, close, 32);

AT(pd_device_ops, size, 0);
AT(pd_device_ops, reserved, 4);
AT(pd_device_ops, open, 8);
AT(pd_device_ops, close, 16);
AT(pd_device_ops, props, 24);
AT(pd_device_ops, memory, 32);
AT(pd_device_ops, stream, 40);
AT(pd_device_ops, tensor, 48);
AT(pd_device_ops, profile, 56);

AT(pd_plugin, size, 0);
AT(pd_plugin, abi_major, 4);
AT(pd_plugin, abi_minor, 6);
AT(pd_plugin, kind, 8);
AT(pd_plugin, option_count, 12);
AT(pd_plugin, option_size, 16);
AT(pd_plugin, options_size, 20);
AT(pd_plugin, name, 24);
AT(pd_plugin, version, 32);
AT(pd_plugin, summary, 40);
AT(pd_plugin, options, 48);
AT(pd_plugin, ops, 56);
AT(pd_plugin, ops.scenario, 56);
AT(pd_plugin, ops.sink, 56);
AT(pd_plugin, ops.device, 56);

AT(pd_activity, kind, 0);
AT(pd_activity, name, 4);
AT(pd_activity, start, 8);
AT(pd_activity, end, 16);
AT(pd_activity, correlation, 24);
AT(pd_activity, device, 32);
AT(pd_activity, context, 36);
AT(pd_activity, stream, 40);
AT(pd_activity, thread, 44);
AT(pd_activity, bytes, 48);
AT(pd_activity, u, 56);
AT(pd_activity, u.api, 56);
AT(pd_activity, u.api.cbid, 56);
AT(pd_activity, u.api.api, 60);
AT(pd_activity, u.api.result, 64);
AT(pd_activity, u.api.reserved, 68);
AT(pd_activity, u.kernel, 56);
AT(pd_activity, u.kernel.grid, 56);
AT(pd_activity, u.kernel.block, 68);
AT(pd_activity, u.kernel.registers, 80);
AT(pd_activity, u.kernel.static_bytes, 84);
AT(pd_activity, u.kernel.dynamic_bytes, 88);
AT(pd_activity, u.kernel.graph, 92);
AT(pd_activity, u.kernel.graph_node, 96);
AT(pd_activity, u.kernel.blocks_per_sm, 100);
AT(pd_activity, u.kernel.warps_per_sm, 104);
AT(pd_activity, u.kernel.occupancy, 108);
AT(pd_activity, u.kernel.waves, 112);
AT(pd_activity, u.kernel.active_blocks, 116);
AT(pd_activity, u.copy, 56);
AT(pd_activity, u.copy.from, 56);
AT(pd_activity, u.copy.to, 60);
AT(pd_activity, u.copy.graph, 64);
AT(pd_activity, u.copy.graph_node, 68);

AT(pd_memory_event, address, 0);
AT(pd_memory_event, bytes, 8);
AT(pd_memory_event, total_allocated, 16);
AT(pd_memory_event, total_reserved, 24);
AT(pd_memory_event, duration_ticks, 32);
AT(pd_memory_event, device_type, 40);
AT(pd_memory_event, device, 44);
AT(pd_memory_event, stream, 48);
AT(pd_memory_event, allocator, 52);

AT(pd_range_info, size, 0);
AT(pd_range_info, part, 4);
AT(pd_range_info, flops, 8);
AT(pd_range_info, sequence, 16);
AT(pd_range_info, backward, 20);
AT(pd_range_info, shape_count, 24);
AT(pd_range_info, module, 28);
AT(pd_range_info, shapes, 32);

AT(pd_shape, rank, 0);
AT(pd_shape, dtype, 4);
AT(pd_shape, dims, 8);

AT(pd_record, size, 0);
AT(pd_record, reserved, 4);
AT(pd_record, impl, 8);
AT(pd_record, enabled, 16);
AT(pd_record, intern, 24);
AT(pd_record, begin, 32);
AT(pd_record, end, 40);
AT(pd_record, ticks, 48);
AT(pd_record, now_ns, 56);
AT(pd_record, activities, 64);
AT(pd_record, memory, 72);
AT(pd_record, counter, 80);
AT(pd_record, lost, 88);
AT(pd_record, name_thread, 96);

AT(pd_site, text, 0);
AT(pd_site, id, 8);
AT(pd_site, kind, 12);

AT(pd_tensor, data, 0);
AT(pd_tensor, shape, 8);
AT(pd_tensor, rank, 40);
AT(pd_tensor, dtype, 44);
AT(pd_tensor, layout, 48);
AT(pd_tensor, reserved, 52);

AT(pd_device_props, size, 0);
AT(pd_device_props, index, 4);
AT(pd_device_props, name, 8);
AT(pd_device_props, versions, 16);
AT(pd_device_props, total_bytes, 24);
AT(pd_device_props, is_cuda, 32);
AT(pd_device_props, compute_major, 36);
AT(pd_device_props, compute_minor, 40);
AT(pd_device_props, sm_count, 44);
AT(pd_device_props, warp_size, 48);
AT(pd_device_props, max_threads_per_block, 52);
AT(pd_device_props, max_threads_per_sm, 56);
AT(pd_device_props, registers_per_block, 60);
AT(pd_device_props, registers_per_sm, 64);
AT(pd_device_props, shared_per_block, 68);
AT(pd_device_props, shared_per_sm, 72);
AT(pd_device_props, shared_per_block_optin, 76);
AT(pd_device_props, shared_reserved_per_block, 80);
AT(pd_device_props, max_blocks_per_sm, 84);
AT(pd_device_props, driver_version, 88);
AT(pd_device_props, runtime_version, 92);
AT(pd_device_props, cupti_version, 96);
AT(pd_device_props, reserved, 100);
AT(pd_device_props, peak_f32_flops, 104);
AT(pd_device_props, peak_tf32_flops, 112);
AT(pd_device_props, peak_f16_flops, 120);
AT(pd_device_props, peak_bytes_per_s, 128);

AT(pd_memory_ops, size, 0);
AT(pd_memory_ops, reserved, 4);
AT(pd_memory_ops, alloc, 8);
AT(pd_memory_ops, free, 16);
AT(pd_memory_ops, host_alloc, 24);
AT(pd_memory_ops, host_free, 32);
AT(pd_memory_ops, usage, 40);
AT(pd_memory_ops, copy, 48);

AT(pd_stream_ops, size, 0);
AT(pd_stream_ops, reserved, 4);
AT(pd_stream_ops, create, 8);
AT(pd_stream_ops, destroy, 16);
AT(pd_stream_ops, synchronize, 24);
AT(pd_stream_ops, device_synchronize, 32);
AT(pd_stream_ops, event_create, 40);
AT(pd_stream_ops, event_destroy, 48);
AT(pd_stream_ops, event_record, 56);
AT(pd_stream_ops, event_wait, 64);
AT(pd_stream_ops, event_synchronize, 72);
AT(pd_stream_ops, event_elapsed_ns, 80);
AT(pd_stream_ops, capture_begin, 88);
AT(pd_stream_ops, capture_end, 96);
AT(pd_stream_ops, graph_launch, 104);
AT(pd_stream_ops, graph_destroy, 112);

AT(pd_conv2d, size, 0);
AT(pd_conv2d, stride, 4);
AT(pd_conv2d, padding, 8);
AT(pd_conv2d, allow_tf32, 12);

AT(pd_adamw, size, 0);
AT(pd_adamw, reserved, 4);
AT(pd_adamw, lr, 8);
AT(pd_adamw, beta1, 16);
AT(pd_adamw, beta2, 24);
AT(pd_adamw, eps, 32);
AT(pd_adamw, weight_decay, 40);
AT(pd_adamw, step, 48);
AT(pd_adamw, found_inf, 56);

AT(pd_parameter, value, 0);
AT(pd_parameter, grad, 8);
AT(pd_parameter, m, 16);
AT(pd_parameter, v, 24);
AT(pd_parameter, half, 32);
AT(pd_parameter, count, 40);

AT(pd_scaler, scale, 0);
AT(pd_scaler, found_inf, 8);
AT(pd_scaler, good_steps, 16);
AT(pd_scaler, growth, 24);
AT(pd_scaler, backoff, 32);
AT(pd_scaler, interval, 40);

AT(pd_tensor_ops, size, 0);
AT(pd_tensor_ops, reserved, 4);
AT(pd_tensor_ops, supports, 8);
AT(pd_tensor_ops, fill, 16);
AT(pd_tensor_ops, randn, 24);
AT(pd_tensor_ops, convert, 32);
AT(pd_tensor_ops, elementwise, 40);
AT(pd_tensor_ops, mean, 48);
AT(pd_tensor_ops, copy_columns, 56);
AT(pd_tensor_ops, conv2d_forward, 64);
AT(pd_tensor_ops, conv2d_backward_data, 72);
AT(pd_tensor_ops, conv2d_backward_weight, 80);
AT(pd_tensor_ops, bias_forward, 88);
AT(pd_tensor_ops, bias_backward, 96);
AT(pd_tensor_ops, bias_relu_backward, 104);
AT(pd_tensor_ops, mean_hw_forward, 112);
AT(pd_tensor_ops, mean_hw_backward, 120);
AT(pd_tensor_ops, matmul, 128);
AT(pd_tensor_ops, layer_norm_forward, 136);
AT(pd_tensor_ops, layer_norm_backward, 144);
AT(pd_tensor_ops, cross_entropy_forward, 152);
AT(pd_tensor_ops, cross_entropy_backward, 160);
AT(pd_tensor_ops, tiny_round_forward, 168);
AT(pd_tensor_ops, tiny_round_backward, 176);
AT(pd_tensor_ops, adamw, 184);
AT(pd_tensor_ops, unscale, 192);
AT(pd_tensor_ops, scaler_update, 200);
AT(pd_tensor_ops, conv2d_relu_backward_weight, 208);
AT(pd_tensor_ops, mean_hw_relu_backward, 216);

AT(pd_profile_options, size, 0);
AT(pd_profile_options, profile_memory, 4);
AT(pd_profile_options, graphs, 8);
AT(pd_profile_options, sync, 12);

AT(pd_profile_status, size, 0);
AT(pd_profile_status, mode, 4);
AT(pd_profile_status, dropped, 8);
AT(pd_profile_status, zero_stamped, 16);
AT(pd_profile_status, implausible, 24);
AT(pd_profile_status, note, 32);

AT(pd_profile_ops, size, 0);
AT(pd_profile_ops, reserved, 4);
AT(pd_profile_ops, attach, 8);
AT(pd_profile_ops, start, 16);
AT(pd_profile_ops, stop, 24);
AT(pd_profile_ops, drain, 32);
AT(pd_profile_ops, detach, 40);
AT(pd_profile_ops, status, 48);

AT(pd_device_access, size, 0);
AT(pd_device_access, reserved, 4);
AT(pd_device_access, device, 8);
AT(pd_device_access, ops, 16);
AT(pd_device_access, stream, 24);

AT(pd_batch, size, 0);
AT(pd_batch, pinned, 4);
AT(pd_batch, index, 8);
AT(pd_batch, count, 16);
AT(pd_batch, channels, 24);
AT(pd_batch, height, 32);
AT(pd_batch, width, 40);
AT(pd_batch, images, 48);
AT(pd_batch, labels, 56);
AT(pd_batch, resident, 64);

AT(pd_step, size, 0);
AT(pd_step, phase, 4);
AT(pd_step, index, 8);
AT(pd_step, batch, 16);

AT(pd_preset, key, 0);
AT(pd_preset, value, 8);

AT(pd_array, data, 0);
AT(pd_array, count, 8);
AT(pd_array, stride, 16);

AT(pd_string, text, 0);
AT(pd_string, length, 8);

AT(pd_thread, tid, 0);
AT(pd_thread, name, 4);

AT(pd_stream_row, device, 0);
AT(pd_stream_row, context, 4);
AT(pd_stream_row, stream, 8);
AT(pd_stream_row, name, 12);

AT(pd_range, start_ns, 0);
AT(pd_range, end_ns, 8);
AT(pd_range, name, 16);
AT(pd_range, kind, 20);
AT(pd_range, part, 24);
AT(pd_range, thread, 28);
AT(pd_range, parent, 32);
AT(pd_range, depth, 36);
AT(pd_range, step, 40);
AT(pd_range, sequence, 44);
AT(pd_range, backward, 48);
AT(pd_range, module, 52);
AT(pd_range, shape_first, 56);
AT(pd_range, shape_count, 60);
AT(pd_range, stack, 64);
AT(pd_range, reserved, 68);
AT(pd_range, flops, 72);

AT(pd_call, start_ns, 0);
AT(pd_call, end_ns, 8);
AT(pd_call, correlation, 16);
AT(pd_call, name, 24);
AT(pd_call, thread, 28);
AT(pd_call, range, 32);
AT(pd_call, step, 36);
AT(pd_call, kind, 40);
AT(pd_call, api, 44);
AT(pd_call, cbid, 48);
AT(pd_call, result, 52);
AT(pd_call, activity_first, 56);
AT(pd_call, activity_count, 60);

AT(pd_device_row, start_ns, 0);
AT(pd_device_row, end_ns, 8);
AT(pd_device_row, name, 16);
AT(pd_device_row, stream, 20);
AT(pd_device_row, call, 24);
AT(pd_device_row, range, 28);
AT(pd_device_row, step, 32);
AT(pd_device_row, reserved, 36);
AT(pd_device_row, detail, 40);

AT(pd_other_row, start_ns, 0);
AT(pd_other_row, end_ns, 8);
AT(pd_other_row, name, 16);
AT(pd_other_row, kind, 20);
AT(pd_other_row, thread, 24);
AT(pd_other_row, stream, 28);
AT(pd_other_row, correlation, 32);

AT(pd_memory_row, ts_ns, 0);
AT(pd_memory_row, thread, 8);
AT(pd_memory_row, range, 12);
AT(pd_memory_row, step, 16);
AT(pd_memory_row, duration_ns, 20);
AT(pd_memory_row, event, 24);

AT(pd_counter_row, ts_ns, 0);
AT(pd_counter_row, value, 8);
AT(pd_counter_row, name, 16);
AT(pd_counter_row, reserved, 20);

AT(pd_trace_step, start_ns, 0);
AT(pd_trace_step, end_ns, 8);
AT(pd_trace_step, train_start_ns, 16);
AT(pd_trace_step, train_end_ns, 24);
AT(pd_trace_step, data_wait_ns, 32);
AT(pd_trace_step, step_time_ns, 40);
AT(pd_trace_step, number, 48);
AT(pd_trace_step, launches, 56);
AT(pd_trace_step, matched, 64);
AT(pd_trace_step, device_rows, 72);
AT(pd_trace_step, loss, 80);

AT(pd_trace, size, 0);
AT(pd_trace, window, 4);
AT(pd_trace, base_ns, 8);
AT(pd_trace, start_ns, 16);
AT(pd_trace, end_ns, 24);
AT(pd_trace, pid, 32);
AT(pd_trace, reserved, 36);
AT(pd_trace, strings, 40);
AT(pd_trace, threads, 64);
AT(pd_trace, streams, 88);
AT(pd_trace, ranges, 112);
AT(pd_trace, calls, 136);
AT(pd_trace, activities, 160);
AT(pd_trace, activities_by_call, 184);
AT(pd_trace, others, 208);
AT(pd_trace, memory, 232);
AT(pd_trace, counters, 256);
AT(pd_trace, steps, 280);
AT(pd_trace, shapes, 304);
AT(pd_trace, stacks, 328);
AT(pd_trace, losses, 352);
AT(pd_trace, profile, 480);
AT(pd_trace, sync_timing, 484);
AT(pd_trace, profile_note, 488);
AT(pd_trace, device, 496);

AT(pd_stack, frames, 0);
AT(pd_stack, count, 8);

AT(pd_metric, key, 0);
AT(pd_metric, heading, 8);
AT(pd_metric, definition, 16);
AT(pd_metric, formula, 24);
AT(pd_metric, source, 32);
AT(pd_metric, unit, 40);
AT(pd_metric, flags, 44);

AT(pd_cell, v, 0);
AT(pd_cell, v.i, 0);
AT(pd_cell, v.d, 0);
AT(pd_cell, v.text, 0);
AT(pd_cell, missing, 8);
AT(pd_cell, is_double, 12);

AT(pd_table_row, cells, 0);
AT(pd_table_row, level, 8);
AT(pd_table_row, flags, 12);

AT(pd_table, size, 0);
AT(pd_table, column_count, 4);
AT(pd_table, id, 8);
AT(pd_table, title, 16);
AT(pd_table, note, 24);
AT(pd_table, columns, 32);
AT(pd_table, rows, 40);
AT(pd_table, footer, 64);

AT(pd_table_set, size, 0);
AT(pd_table_set, count, 4);
AT(pd_table_set, tables, 8);

AT(pd_table_request, size, 0);
AT(pd_table_request, group_by_input_shape, 4);
AT(pd_table_request, group_by_stack_n, 8);
AT(pd_table_request, top_level_events_only, 12);
AT(pd_table_request, thread_sep, 16);
AT(pd_table_request, hide_op_detail, 20);
AT(pd_table_request, sort_by, 24);
AT(pd_table_request, sorted_by, 32);

AT(pd_analysis, size, 0);
AT(pd_analysis, reserved, 4);
AT(pd_analysis, impl, 8);
AT(pd_analysis, tables, 16);
AT(pd_analysis, metrics, 24);

AT(pd_setting, section, 0);
AT(pd_setting, key, 8);
AT(pd_setting, value, 16);
AT(pd_setting, origin, 24);
AT(pd_setting, is_default, 32);
AT(pd_setting, reserved, 36);

AT(pd_run, size, 0);
AT(pd_run, pid, 4);
AT(pd_run, start_realtime_ns, 8);
AT(pd_run, scenario, 16);
AT(pd_run, scenario_version, 24);
AT(pd_run, bottleneck, 32);
AT(pd_run, device_name, 40);
AT(pd_run, pdhost_version, 48);
AT(pd_run, command_line, 56);
AT(pd_run, trace_dir, 64);
AT(pd_run, worker, 72);
AT(pd_run, host_name, 80);
AT(pd_run, device, 88);
AT(pd_run, settings, 96);
AT(pd_run, seed, 120);
AT(pd_run, batch_size, 128);
AT(pd_run, num_workers, 136);
AT(pd_run, image_size, 144);
AT(pd_run, pin_memory, 152);
AT(pd_run, amp, 156);
AT(pd_run, channels_last, 160);
AT(pd_run, sync_timing, 164);
AT(pd_run, total_steps, 168);
AT(pd_run, skip_first, 176);
AT(pd_run, wait, 184);
AT(pd_run, warmup, 192);
AT(pd_run, active, 200);
AT(pd_run, repeat, 208);
AT(pd_run, record_shapes, 216);
AT(pd_run, profile_memory, 220);
AT(pd_run, with_stack, 224);
AT(pd_run, with_flops, 228);
AT(pd_run, with_modules, 232);
AT(pd_run, timer_only, 236);
AT(pd_run, fallback, 240);

AT(pd_step_stats, size, 0);
AT(pd_step_stats, phase, 4);
AT(pd_step_stats, index, 8);
AT(pd_step_stats, window, 16);
AT(pd_step_stats, reserved, 20);
AT(pd_step_stats, data_wait_ns, 24);
AT(pd_step_stats, step_time_ns, 32);
AT(pd_step_stats, batch_cost_ns, 40);
AT(pd_step_stats, loss, 48);
AT(pd_step_stats, loss_scale, 56);
AT(pd_step_stats, allocated_bytes, 64);
AT(pd_step_stats, reserved_bytes, 72);
AT(pd_step_stats, end_realtime_ns, 80);

AT(pd_spread, count, 0);
AT(pd_spread, mean, 8);
AT(pd_spread, median, 16);
AT(pd_spread, min, 24);
AT(pd_spread, max, 32);
AT(pd_spread, p10, 40);
AT(pd_spread, p90, 48);

AT(pd_summary, size, 0);
AT(pd_summary, outcome, 4);
AT(pd_summary, reason, 8);
AT(pd_summary, steps, 16);
AT(pd_summary, windows, 24);
AT(pd_summary, avg_step_time_s, 32);
AT(pd_summary, avg_dataloader_wait_s, 40);
AT(pd_summary, step_time_s, 48);
AT(pd_summary, data_wait_s, 104);
AT(pd_summary, batch_cost_s, 160);
AT(pd_summary, steps_per_s, 216);
AT(pd_summary, samples_per_s, 224);
AT(pd_summary, first_batch_s, 232);
AT(pd_summary, peak_allocated_bytes, 240);
AT(pd_summary, peak_reserved_bytes, 248);
AT(pd_summary, losses, 256);
AT(pd_summary, steps_all, 280);
AT(pd_summary, coverage, 304);
AT(pd_summary, lost, 312);
AT(pd_summary, profile, 440);
AT(pd_summary, reserved, 444);
AT(pd_summary, profile_note, 448);
AT(pd_summary, sync_note, 456);

AT(pd_files, size, 0);
AT(pd_files, reserved, 4);
AT(pd_files, impl, 8);
AT(pd_files, open, 16);
AT(pd_files, write, 24);
AT(pd_files, commit, 32);
AT(pd_files, discard, 40);
AT(pd_files, announce, 48);

AT(pd_train_model, size, 0);
AT(pd_train_model, tiny_ops_block, 4);

AT(pd_train, size, 0);
AT(pd_train, reserved, 4);
AT(pd_train, impl, 8);
AT(pd_train, configure, 16);
AT(pd_train, step, 24);
AT(pd_train, to_device, 32);
AT(pd_train, zero_grad, 40);
AT(pd_train, forward, 48);
AT(pd_train, item, 56);
AT(pd_train, backward, 64);
AT(pd_train, optimizer_step, 72);
AT(pd_train, empty_like, 80);
AT(pd_train, tensor_free, 88);
AT(pd_train, randn, 96);
AT(pd_train, mean, 104);
AT(pd_train, add, 112);
