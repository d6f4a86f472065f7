/*
 * sycl.cc - AdaptiveCpp's runtime, for `oshcc --race --sycl`, which compiles this file with the program and links it by --wrap: the program's calls
 * of the runtime come here first.
 *
 * Its threads append the commands of all queues, and find out which ones have ended. So a thread that submits a command waits until it is appended,
 * meanwhile on behalf of this thread (kernel.c), and a thread that waits for commands waits for their events of Level Zero by itself.
 */
#include <hipSYCL/runtime/dag_manager.hpp>
#include <hipSYCL/runtime/dag_node.hpp>
#include <hipSYCL/runtime/runtime.hpp>

#include <dlfcn.h>
#include <map>
#include <mutex>
#include <unistd.h>
#include <vector>

using namespace hipsycl::rt;

extern "C" void fulmar_race_submit(int begins);
extern "C" void fulmar_race_waited(void **clock);

/* NAME: the runtime's function, and the one here that takes its place. */
#define WRAP(R, NAME, SYMBOL, PARAMS)                                                                                 \
    R real_##NAME PARAMS __asm__("__real_" SYMBOL);                                                                   \
    R wrap_##NAME PARAMS __asm__("__wrap_" SYMBOL);                                                                   \
    R wrap_##NAME PARAMS

/* ---- submission ---------------------------------------------------------------------------------------------------------- */

/* The commands of a queue that no thread has waited for, and what those know that have waited. */
struct queue {
    std::vector<dag_node_ptr> commands;
    void *clock = nullptr;
};
enum { KEPT = 1024 };
static std::mutex lock; /* of queues */
static std::map<std::size_t, queue> &queues = *new std::map<std::size_t, queue>; /* by the runtime's number; never freed: the runtime ends first */
static thread_local dag_node_ptr submitted;

/* The calling thread is after the command, which has been submitted. */
static void wait_for(const dag_node *command)
{
    auto event = command->get_event();
    if (event)
        event->wait();
}

WRAP(dag_node_ptr, add,
     "_ZN7hipsycl2rt11dag_builder17add_command_groupESt10unique_ptrINS0_9operationESt14default_deleteIS3_EERKNS0_17requirements_listERKNS0_15execution_"
     "hintsE",
     (dag_builder * builder, std::unique_ptr<operation> what, const requirements_list &after, const execution_hints &hints))
{
    submitted = real_add(builder, std::move(what), after, hints);
    if (auto *number = hints.get_hint<hints::node_group>()) {
        std::lock_guard<std::mutex> hold{lock};
        auto &commands = queues[number->get_id()].commands;
        if (commands.size() >= KEPT && commands.front()->is_complete()) { /* the thread counts as one that has waited for it */
            wait_for(commands.front().get());
            commands.erase(commands.begin());
        }
        commands.push_back(submitted);
    }
    return submitted;
}

/* The end of what begins before `add`. */
WRAP(void, built, "_ZN7hipsycl2rt15dag_build_guardD1Ev", (dag_build_guard * guard))
{
    fulmar_race_submit(1);
    real_built(guard);
    if (submitted) /* the runtime would keep some commands until a wait */
        submitted->get_runtime()->dag().flush_async();
    while (submitted && !submitted->is_submitted())
        usleep(20);
    submitted = nullptr;
    fulmar_race_submit(0);
}

/* ---- waits --------------------------------------------------------------------------------------------------------------- */

WRAP(void, wait, "_ZNK7hipsycl2rt8dag_node4waitEv", (const dag_node *command))
{
    real_wait(command);
    wait_for(command);
}

WRAP(bool, is_complete, "_ZNK7hipsycl2rt8dag_node11is_completeEv", (const dag_node *command))
{
    bool yes = real_is_complete(command);
    if (yes)
        wait_for(command);
    return yes;
}

WRAP(void, wait_for_queue, "_ZN7hipsycl2rt11dag_manager4waitEm", (dag_manager * manager, std::size_t number))
{
    real_wait_for_queue(manager, number);
    std::unique_lock<std::mutex> hold{lock};
    queue &q = queues[number];
    std::vector<dag_node_ptr> commands;
    commands.swap(q.commands);
    for (const auto &c : commands)
        wait_for(c.get());
    fulmar_race_waited(&q.clock);
}

/* ---- lines --------------------------------------------------------------------------------------------------------------- */

/* The runtime removes lines and all else for debuggers from the kernels that it compiles, by this function of LLVM, which the dynamic linker finds
 * here first. Lines stay. */
extern "C" __attribute__((visibility("default"))) bool _ZN4llvm14StripDebugInfoERNS_6ModuleE(void *module)
{
    Dl_info caller;
    void *so = dladdr(__builtin_return_address(0), &caller) ? dlopen(caller.dli_fname, RTLD_LAZY | RTLD_NOLOAD) : nullptr;
    auto *but_lines = so ? (bool (*)(void *))dlsym(so, "_ZN4llvm26stripNonLineTableDebugInfoERNS_6ModuleE") : nullptr;
    return but_lines && but_lines(module);
}
