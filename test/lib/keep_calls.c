/*
 * keep_calls.c - preloaded into a program in SYCL: AdaptiveCpp's compiler of kernels, which inlines all functions, calls those that are noinline.
 *
 * Its first step, in the program's compiler, keeps that attribute of functions with the annotation acpp_no_s1_device_inline. The second, at
 * run time, adds alwaysinline to all functions; here it is removed before LLVM's passes run. Their C++ names are those of LLVM 15 and
 * later; all else is LLVM's interface for C. A result is returned in memory that the caller gives as the first argument (x86-64).
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>

enum { WHOLE_FUNCTION = -1 }; /* LLVMAttributeFunctionIndex */

/* A symbol of LLVM, which a program like llvm-spirv has, or the library that called from `caller` has loaded for itself. */
static void *llvm(const void *caller, const char *name)
{
    Dl_info info;
    void *library, *symbol = dlsym(RTLD_NEXT, name);
    if (!symbol && dladdr(caller, &info) && (library = dlopen(info.dli_fname, RTLD_NOW | RTLD_NOLOAD)))
        symbol = dlsym(library, name);
    if (!symbol) {
        fprintf(stderr, "keep_calls: LLVM has no %s\n", name);
        abort();
    }
    return symbol;
}

static void keep_calls(const void *caller, void *module)
{
    void *(*first)(void *) = llvm(caller, "LLVMGetFirstFunction"), *(*next)(void *) = llvm(caller, "LLVMGetNextFunction");
    unsigned (*kind)(const char *, size_t) = llvm(caller, "LLVMGetEnumAttributeKindForName");
    void *(*get)(void *, unsigned, unsigned) = llvm(caller, "LLVMGetEnumAttributeAtIndex");
    void (*remove)(void *, unsigned, unsigned) = llvm(caller, "LLVMRemoveEnumAttributeAtIndex");
    unsigned noinline = kind("noinline", 8), alwaysinline = kind("alwaysinline", 12);
    for (void *f = first(module); f; f = next(f))
        if (get(f, (unsigned)WHOLE_FUNCTION, noinline))
            remove(f, (unsigned)WHOLE_FUNCTION, alwaysinline);
}

#define PASS(NAME)                                                                                                    \
    void *NAME(void *result, void *pass, void *module, void *analyses);                                               \
    void *NAME(void *result, void *pass, void *module, void *analyses)                                                \
    {                                                                                                                 \
        const void *caller = __builtin_return_address(0);                                                             \
        void *(*run)(void *, void *, void *, void *) = llvm(caller, #NAME);                                           \
        keep_calls(caller, module);                                                                                   \
        return run(result, pass, module, analyses);                                                                   \
    }
/* AlwaysInlinerPass::run and PassManager<Module>::run */
PASS(_ZN4llvm17AlwaysInlinerPass3runERNS_6ModuleERNS_15AnalysisManagerIS1_JEEE)
PASS(_ZN4llvm11PassManagerINS_6ModuleENS_15AnalysisManagerIS1_JEEEJEE3runERS1_RS3_)
