/* stream.c: streams, events, capture and graphs: see tests/cuda/runtime.c.
 *
 * Submitted work is a closure: a function and its arguments by value. It runs at once, or waits in
 * one queue for all streams (lazy), or is recorded (capture) as a node and then run by every launch of the
 * graph, behind the nodes that its edges name. The queue keeps the order of submission, which every order of streams and
 * events allows, or one of the two that are farthest from it: the newest or the oldest stream goes ahead until it waits
 * for an event. */
#include <stdlib.h>
#include <time.h>

#include "tests/cuda/runtime.h"

/* Nodes of a graph that the next one of a stream comes after. */
enum { LAST_MOST = 8 };
typedef struct {
    size_t n;
    Work *node[LAST_MOST];
} Last;

struct CudaHostStream {
    int captures, kernel; /* kernel: the last work is one */
    int device;           /* of the thread that made it: no other takes its work */
    size_t number;        /* from 1, by age */
    Last last;
};

struct CudaHostEvent {
    int recorded;
    size_t captured;    /* number of the capture that recorded it; 0: none */
    size_t asked, done; /* records submitted and run */
    double time;        /* seconds */
    Last last;
};

struct CudaHostGraph {
    Work *first, **end;
    int refs;
    CudaHostNodes counts;
};

static Work *waiting, **waiting_end = &waiting;
static int lazy;
int cuda_host_deaf;
static CudaHostStreams first_stream;
static size_t streams; /* made so far */

static struct {
    int active, broken;
    size_t number;                  /* of all captures so far */
    cudaStream_t stream[LAST_MOST]; /* the origin, then those that joined it */
    size_t streams;
    cudaGraph_t graph;
} capture;

/* ---- work ------------------------------------------------------------------------------------ */

static void work_free(Work *w)
{
    if (w->drop) w->drop(w->data);
    free(w->after_nodes);
    free(w->data);
    free(w);
}

static void work_free_all(Work *w)
{
    for (Work *next; w; w = next) {
        next = w->next;
        work_free(w);
    }
}

static size_t number_of(cudaStream_t stream)
{
    return stream ? stream->number : 0;
}

/* Returns whether the work may run: nothing before it in the queue is in its stream or the default one, and its
 * event has come. */
static int may_run(const Work *w)
{
    for (const Work *v = waiting; v != w; v = v->next)
        if (v->stream == w->stream || !v->stream || !w->stream) return 0;
    return !w->after || w->after->done >= w->ticket;
}

/* Returns the place of the next work in the queue. */
static Work **next_work(void)
{
    Work **best = &waiting;
    for (Work **at = &waiting; *at && first_stream != CUDA_HOST_AS_SUBMITTED; at = &(*at)->next) {
        size_t n = number_of((*at)->stream), b = number_of((*best)->stream);
        int ahead = first_stream == CUDA_HOST_NEWEST ? n > b : n < b;
        if ((ahead || !may_run(*best)) && may_run(*at)) best = at;
    }
    return best;
}

cudaError_t stream_flush(void)
{
    cudaError_t e = host_ready();
    while (waiting) {
        Work **at = next_work(), *w = *at;
        *at = w->next;
        if (waiting_end == &w->next) waiting_end = at;
        if (e == cudaSuccess) e = w->run(w->data);
        work_free(w);
    }
    return host_last(e);
}

int stream_captures(cudaStream_t stream)
{
    return stream && stream->captures;
}

/* Refuses the default stream in a capture: it would wait for all others, those that capture too. */
static cudaError_t refuse(cudaStream_t stream)
{
    if (!capture.active) return cudaSuccess;
    if (stream_captures(stream) && capture.broken) return cudaErrorStreamCaptureInvalidated;
    if (stream) return cudaSuccess;
    capture.broken = 1;
    return cudaErrorStreamCaptureImplicit;
}

/* Adds what `from` holds to `to`; what is there is not added again. */
static void last_add(Last *to, const Last *from)
{
    for (size_t i = 0; i < from->n; i++) {
        size_t k = 0;
        while (k < to->n && to->node[k] != from->node[i]) k++;
        if (k == LAST_MOST) abort();
        to->node[k] = from->node[i];
        to->n += k == to->n;
    }
}

/* Adds a node to the graph, behind the last ones of its stream. */
static void capture_add(cudaStream_t stream, Work *w)
{
    Last *last = &stream->last;
    CudaHostNodes *n = &capture.graph->counts;
    w->after_nodes = host_new(last->n * sizeof *w->after_nodes);
    for (; w->afters < last->n; w->afters++) {
        w->after_nodes[w->afters] = last->node[w->afters];
        last->node[w->afters]->followed = 1;
    }
    n->nodes++;
    n->edges += w->afters;
    n->beside += stream != capture.stream[0];
    *last = (Last){1, {w}};
    *capture.graph->end = w;
    capture.graph->end = &w->next;
}

/* Makes a stream's next node come after an event of this capture, which the stream joins. */
static void capture_wait(cudaStream_t stream, const struct CudaHostEvent *event)
{
    if (!stream->captures) {
        if (capture.streams == LAST_MOST) abort();
        capture.stream[capture.streams++] = stream;
        stream->captures = 1;
        stream->last.n = 0;
    }
    stream->kernel = 0;
    if (!cuda_host_deaf) last_add(&stream->last, &event->last);
}

/* Submits work that waits for all records so far of the event `after`, or for none (NULL). */
static cudaError_t submit(cudaStream_t stream, cudaEvent_t after, cudaError_t (*run)(const void *),
                          void (*drop)(void *), void *data)
{
    Work *w = host_new(sizeof *w);
    if (stream) stream->kernel = 0;
    *w = (Work){.run = run, .drop = drop, .data = data, .stream = stream, .after = after};
    if (after) w->ticket = after->asked;
    cudaError_t e = refuse(stream);
    if (e == cudaSuccess && stream && stream->device != host_device())
        e = cudaErrorInvalidResourceHandle;
    if (e == cudaSuccess && stream_captures(stream)) {
        capture_add(stream, w);
        return cudaSuccess;
    }
    if (e == cudaSuccess && lazy) {
        *waiting_end = w;
        waiting_end = &w->next;
        return cudaSuccess;
    }
    if (e == cudaSuccess) e = run(data);
    work_free(w);
    return host_last(e);
}

int stream_takes_early(cudaStream_t stream)
{
    return stream && stream->kernel;
}

void stream_launched(cudaStream_t stream, int early)
{
    if (stream) stream->kernel = 1;
    if (early && stream_captures(stream)) capture.graph->counts.early++;
}

cudaError_t stream_submit(cudaStream_t stream, cudaError_t (*run)(const void *),
                          void (*drop)(void *), void *data)
{
    return submit(stream, NULL, run, drop, data);
}

void cuda_host_streams(CudaHostStreams first)
{
    stream_flush();
    first_stream = first;
}

void cuda_host_lazy(int on)
{
    if (!on) stream_flush();
    lazy = on;
}

cudaError_t stream_forbid(void)
{
    if (!capture.active) return cudaSuccess;
    capture.broken = 1;
    return host_last(cudaErrorStreamCaptureUnsupported);
}

/* Waiting for work that is being captured is illegal in every mode. */
static cudaError_t wait_for(int captured)
{
    if (captured && capture.active) {
        capture.broken = 1;
        return host_last(cudaErrorStreamCaptureUnsupported);
    }
    return stream_flush();
}

/* ---- streams --------------------------------------------------------------------------------- */

cudaError_t cudaStreamCreateWithFlags(cudaStream_t *stream, unsigned int flags)
{
    READY();
    if (flags > cudaStreamNonBlocking) return host_last(cudaErrorInvalidValue);
    *stream = host_new(sizeof **stream);
    (*stream)->number = ++streams;
    (*stream)->device = host_device();
    return cudaSuccess;
}

cudaError_t cudaStreamDestroy(cudaStream_t stream)
{
    cudaError_t e = host_ready();
    if (!stream) return host_last(cudaErrorInvalidResourceHandle);
    if (stream->captures) return wait_for(1);
    if (e == cudaSuccess) e = stream_flush();
    free(stream);
    return e;
}

cudaError_t cudaStreamSynchronize(cudaStream_t stream)
{
    READY();
    if (capture.active && !stream) return stream_forbid();
    return wait_for(stream_captures(stream));
}

/* Nothing runs beside the host, so a query runs the waiting work. */
cudaError_t cudaStreamQuery(cudaStream_t stream)
{
    return cudaStreamSynchronize(stream);
}

static cudaError_t run_nothing(const void *data)
{
    (void)data;
    return cudaSuccess;
}

cudaError_t cudaStreamWaitEvent(cudaStream_t stream, cudaEvent_t event, unsigned int flags)
{
    READY();
    (void)flags;
    if (!event) return host_last(cudaErrorInvalidResourceHandle);
    cudaError_t e = refuse(stream);
    if (e != cudaSuccess || (cuda_host_deaf && !capture.active)) return host_last(e);
    if (capture.active && event->captured == capture.number)
        capture_wait(stream, event);
    else if (stream_captures(stream))
        return stream_forbid(); /* it would wait for what is outside the capture */
    else if (!event->captured && !cuda_host_deaf)
        return submit(stream, event, run_nothing, NULL, NULL);
    return cudaSuccess;
}

/* ---- events ---------------------------------------------------------------------------------- */

cudaError_t cudaEventCreateWithFlags(cudaEvent_t *event, unsigned int flags)
{
    (void)flags;
    READY();
    *event = host_new(sizeof **event);
    return cudaSuccess;
}

cudaError_t cudaEventCreate(cudaEvent_t *event)
{
    return cudaEventCreateWithFlags(event, 0);
}

cudaError_t cudaEventDestroy(cudaEvent_t event)
{
    cudaError_t e = host_ready();
    if (!event) return host_last(cudaErrorInvalidResourceHandle);
    if (e == cudaSuccess && waiting) e = stream_flush();
    free(event);
    return e;
}

static cudaError_t run_event(const void *data)
{
    struct timespec t;
    cudaEvent_t event = *(cudaEvent_t const *)data;
    clock_gettime(CLOCK_MONOTONIC, &t);
    event->time = (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
    event->done++;
    return cudaSuccess;
}

cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t stream)
{
    READY();
    if (!event) return host_last(cudaErrorInvalidResourceHandle);
    event->captured = stream_captures(stream) ? capture.number : 0;
    if (event->captured) {
        event->last = stream->last;
        return host_last(refuse(stream));
    }
    event->recorded = 1;
    event->asked++;
    cudaEvent_t *kept = host_new(sizeof *kept);
    *kept = event;
    return stream_submit(stream, run_event, NULL, kept);
}

cudaError_t cudaEventSynchronize(cudaEvent_t event)
{
    READY();
    if (!event) return host_last(cudaErrorInvalidResourceHandle);
    return wait_for(event->captured && event->captured == capture.number);
}

cudaError_t cudaEventQuery(cudaEvent_t event)
{
    return cudaEventSynchronize(event);
}

cudaError_t cudaEventElapsedTime(float *ms, cudaEvent_t start, cudaEvent_t end)
{
    READY();
    if (!start || !end || !start->recorded || !end->recorded)
        return host_last(cudaErrorInvalidResourceHandle);
    if (waiting) return host_last(cudaErrorNotReady);
    *ms = (float)(1e3 * (end->time - start->time));
    return cudaSuccess;
}

/* ---- capture and graphs ---------------------------------------------------------------------- */

static void graph_drop(cudaGraph_t g)
{
    if (--g->refs > 0) return;
    work_free_all(g->first);
    free(g);
}

static void capture_end(void)
{
    for (size_t i = 0; i < capture.streams; i++)
        capture.stream[i]->captures = capture.stream[i]->kernel = 0;
    capture.active = capture.broken = 0;
    capture.streams = 0;
}

/* Tells whether the origin waits for every stream that joined: what nothing follows is among its last nodes. */
static int capture_joined(void)
{
    const Last *last = &capture.stream[0]->last;
    for (const Work *w = capture.graph->first; w && !cuda_host_deaf; w = w->next) {
        size_t k = 0;
        while (k < last->n && last->node[k] != w) k++;
        if (!w->followed && k == last->n) return 0;
    }
    return 1;
}

cudaError_t cudaStreamBeginCapture(cudaStream_t stream, cudaStreamCaptureMode mode)
{
    (void)mode;
    READY();
    if (!stream) return host_last(cudaErrorStreamCaptureUnsupported);
    if (capture.active) return host_last(cudaErrorIllegalState);
    stream->captures = 1;
    stream->kernel = 0;
    stream->last.n = 0;
    capture.active = 1;
    capture.number++;
    capture.stream[0] = stream;
    capture.streams = 1;
    capture.graph = host_new(sizeof *capture.graph);
    capture.graph->end = &capture.graph->first;
    capture.graph->refs = 1;
    return cudaSuccess;
}

cudaError_t cudaStreamEndCapture(cudaStream_t stream, cudaGraph_t *graph)
{
    *graph = NULL;
    READY();
    if (!capture.active) return host_last(cudaErrorIllegalState);
    if (stream != capture.stream[0]) {
        capture.broken = 1;
        return host_last(cudaErrorStreamCaptureUnmatched);
    }
    cudaError_t wrong = capture.broken      ? cudaErrorStreamCaptureInvalidated
                        : !capture_joined() ? cudaErrorStreamCaptureUnjoined
                                            : cudaSuccess;
    capture_end();
    if (wrong != cudaSuccess) {
        graph_drop(capture.graph);
        return host_last(wrong);
    }
    *graph = capture.graph;
    return cudaSuccess;
}

/* An executable graph is the recorded graph, which no longer changes. */
cudaError_t cudaGraphInstantiateWithFlags(cudaGraphExec_t *exec, cudaGraph_t graph,
                                          unsigned long long flags)
{
    (void)flags;
    *exec = NULL;
    READY();
    if (!graph) return host_last(cudaErrorInvalidValue);
    cuda_seen.graph = graph->counts;
    graph->refs++;
    *exec = graph;
    return cudaSuccess;
}

static int node_ready(const Work *w)
{
    for (size_t i = 0; i < w->afters; i++)
        if (!w->after_nodes[i]->ran) return 0;
    return !w->ran;
}

/* Returns the next node: the first one, or that of the newest or the oldest stream, of those whose edges allow it. */
static Work *next_node(const struct CudaHostGraph *g)
{
    Work *best = NULL;
    for (Work *w = g->first; w; w = w->next) {
        if (!node_ready(w)) continue;
        if (first_stream == CUDA_HOST_AS_SUBMITTED) return w;
        size_t n = number_of(w->stream), b = best ? number_of(best->stream) : n;
        if (!best || (first_stream == CUDA_HOST_NEWEST ? n > b : n < b)) best = w;
    }
    return best;
}

static cudaError_t run_graph(const void *data)
{
    const struct CudaHostGraph *g = *(cudaGraph_t const *)data;
    for (Work *w = g->first; w; w = w->next) w->ran = 0;
    for (Work *w; (w = next_node(g)); w->ran = 1) {
        cudaError_t e = w->run(w->data);
        if (e != cudaSuccess) return e;
    }
    return cudaSuccess;
}

static void drop_graph(void *data)
{
    graph_drop(*(cudaGraph_t *)data);
}

cudaError_t cudaGraphLaunch(cudaGraphExec_t exec, cudaStream_t stream)
{
    READY();
    if (!exec) return host_last(cudaErrorInvalidValue);
    cudaGraph_t *kept = host_new(sizeof *kept);
    *kept = exec;
    exec->refs++;
    return stream_submit(stream, run_graph, drop_graph, kept);
}

cudaError_t cudaGraphDestroy(cudaGraph_t graph)
{
    if (!graph) return host_last(cudaErrorInvalidValue);
    graph_drop(graph);
    return host_ready();
}

cudaError_t cudaGraphExecDestroy(cudaGraphExec_t exec)
{
    return cudaGraphDestroy(exec);
}

void stream_reset(void)
{
    Work *w = waiting;
    waiting = NULL;
    waiting_end = &waiting;
    work_free_all(w);
    if (!capture.active) return;
    capture_end();
    graph_drop(capture.graph);
}
