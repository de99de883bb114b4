"""The cells of generate.py: what is injected into which loop, and the label that is made of what was measured."""
import random
import statistics

CAUSES = {  # detail: (cause, dials)
    'none': ('none', [0]),
    'input_io': ('input_bound', [2, 8]),          # ms that each sample sleeps
    'input_cpu': ('input_bound', [20, 60]),       # times that each sample is worked through
    'input_main': ('input_bound', [5, 20]),       # as input_cpu, without workers: the loop's thread makes the batch
    'forced_sync': ('forced_sync', [4, 16, 40]),  # losses and gradient norms read by the host
    'sync_mask': ('forced_sync', [4, 16]),        # rows picked by a mask, whose number the host has to know
    'sync_device': ('forced_sync', [2, 8]),       # waits for the whole device between layers' gradients
    'launch_bound': ('launch_bound', [10, 30]),   # rounds of tiny layers, forward and backward
    'launch_loop': ('launch_bound', [1, 3]),      # averages of the weights, kept by a loop over all parameters
    'allocator': ('allocator', [4, 12]),          # blocks made, zeroed, freed, and the cache emptied
    'pageable_copy': ('pageable_copy', [32, 96]),  # a copy of this many times 256 KiB
    'host_compute': ('host_compute', [800, 2500]),  # us that the host spins
    'host_sleep': ('host_compute', [500, 3000]),  # us that the host sleeps, as a log that is written does
    'host_python': ('host_compute', [2000, 20000]),  # words that the host sorts and joins
    'small_batch': ('small_batch', [4, 8]),       # parts of the batch
    'serial_streams': ('serial_streams', [20, 50]),  # products that alternate between two streams
}


def cells(arguments):
    chosen = [(m, p, s, d, dial) for m in arguments.models.split(',') for p in arguments.precisions.split(',')
              for s in (False, True) for d, (_, dials) in CAUSES.items() for dial in dials]
    random.Random(arguments.seed).shuffle(chosen)
    return chosen


def name_of(model, precision, sync, detail, dial):
    return f'{model}_{precision}_{"sync" if sync else "async"}_{detail}_{dial}'


def gains(cause, effect, graph):
    """What was injected saves its effect; launching saves what a graph does in the rest of the step."""
    measured = {} if cause == 'none' else {cause: effect}
    if graph is not None:
        rest = 1 if cause == 'none' else 1 - effect
        measured['launch_bound'] = measured.get('launch_bound', 0) + rest * graph
    return {name: round(share, 4) for name, share in measured.items()}


def label_of(cell, pairs, graph_blocks):
    """The label by blocks (control, injected) of the cell; graph_blocks None: its step could not be captured."""
    model, precision, sync, detail, dial = cell
    control, step = (statistics.median(p[i] for p in pairs) for i in (0, 1))
    blocks = sorted((b - a) / b for a, b in pairs)
    cause, effect = CAUSES[detail][0], statistics.median(blocks)
    graph = round(statistics.median(graph_blocks), 4) if graph_blocks else None
    return {'trace': name_of(*cell) + '.pt.trace.json.gz', 'gains': gains(cause, effect, graph), 'model': model,
            'precision': precision, 'sync_each_step': sync, 'cause': cause, 'detail': detail, 'dial': dial,
            'step_us': round(step, 1), 'control_us': round(control, 1), 'effect_share': round(effect, 4),
            'effect_blocks': [round(b, 4) for b in blocks], 'graph_share': graph,
            'graph_blocks': graph_blocks and [round(share, 4) for share in graph_blocks]}
