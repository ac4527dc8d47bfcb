/* installed.h: NVIDIA's libraries, found when the program runs, so that it starts where they are missing. */
#ifndef TROTTER_INSTALLED_H
#define TROTTER_INSTALLED_H

#ifdef __cplusplus
extern "C" {
#endif

/* Opens with dlopen the first of these names (NULL at the end) that is available: where the loader looks, then in the
 * CUDA toolkit's folders, then where Python's packages put them: site-packages/nvidia/NAME/lib of python3 on the PATH,
 * of a virtual environment (VIRTUAL_ENV, CONDA_PREFIX), of the user and of the system. A library there may need
 * another one beside it; those are opened too. NULL: none, or the one that the loader finds cannot be loaded. */
void *installed_open(const char *const *names);

/* The places it searches, for messages. */
#define INSTALLED_PLACES "the loader's path, the CUDA toolkit, Python's packages"

#ifdef __cplusplus
}
#endif
#endif
