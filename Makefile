# Trotter: numerical-analysis testbed and neural engine. `make` prints this help.
#
#   make build              build/trotter, optimised
#   make check              build, run every test, print "N passed, N failed, N skipped"
#   make demo               the main job on the King James text, at most 5 minutes on 2 cores -> out/demo
#   make gallery            some twenty pictures with their commands -> out/gallery/index.html, a minute or two on 2 cores
#   make site               an atlas for browsers, without a server: a page a method, findings, manual
#                           -> out/site/index.html, some minutes on 2 cores
#   make wasm               what tells there of a scheme that is typed: the program's own code for browsers (Debian 12: emscripten)
#   make check-bare         tests that run programs, without mpirun, clang, nvcc, gnuplot, python3, groff, chromium, pdflatex and coqc
#   make check-order        tests in three drawn orders, and each alone: none needs or minds what another left; an hour or so
#   make check-ranks        tests of several processes; fails where Open MPI is missing (libopenmpi-dev openmpi-bin)
#   make check-python       the library from Python, with NumPy (python3-numpy)
#   make check-peer         logits, gradients, ten steps of Adam against PyTorch, where it is (python3-torch)
#   make soak               1,000 faults of each kind: kills, full disks, damaged files; 1,000 command lines with random
#                           options; 300 drawn schemes, and runs that are stopped and go on (SEED=N draws others)
#   make check-faults       every command with system calls and allocations that fail, and after power cuts: FAULTS=300 of each
#                           command and kind (0: one of each place and way), SEED=N draws others
#   make check-library      the library in others' processes: threads under ThreadSanitizer, CALLS=1000000 calls without
#                           growth, its binary interface (abigail-tools)
#   make check-machines     ranks and a study on two machines (network namespaces, as root): lost packets, a rank killed or
#                           paused, clocks apart
#   make release-check      check-bare, check-race, check-library, check-machines, check-builds and check-faults (FAULTS=N), whatever becomes of
#                           the others; what each found goes to tests/measured.txt
#   make check-builds       two builds in two folders are the same bytes; gcc -O0 and -O3, and clang, without a warning
#   make soak-memory        resident memory of trainings of TIME seconds each: its slope, with its 95 % interval
#   make check-valgrind     memcheck on a short training
#   make fuzz               coverage-guided fuzzing of every reader (needs clang), TIME=seconds each, READER=name,
#                           ENGINE=afl (AFL++ in place of libFuzzer), FUZZ_SEED=N (the random numbers);
#                           make fuzz-coverage: the branches that its inputs take
#   make analyse            cppcheck and clang-tidy; what they look for: .clang-tidy
#   make coverage           branch coverage of the readers by the tests (gcov); fails below 95 %
#   make mutants            how many faults in the code the tests see: COUNT=100 of them, drawn by SEED=N, in ROOM="FOLDER..."
#   make check-sanitize     the same tests under address and undefined-behaviour sanitizers
#   make check-race         CUDA kernels on the host under ThreadSanitizer
#   make lint               formatting (clang-format), layering (which room includes which), circles of calls in a room
#   make format             rewrite the sources in the committed format
#   make debug              build/debug/trotter, for a debugger: no optimisation
#   make compile_commands.json    for clangd and other tools
#   make man                man pages and bash completion, in build/man
#   make install PREFIX=/usr/local    bin/trotter (self-contained: texts are embedded), man pages and bash completion;
#                           DESTDIR works; make uninstall
#   make wheel              build/wheel/trotter-*.whl, the library from Python, for pip on systems like this one
#   make bundle             out/trotter-gpu.tar.xz: what studies/scripts/gpu.sh needs on a machine with a GPU and nothing to
#                           build with, and studies/bench/peer/torch_lm.py (PEER=FILE: another script too)
#   make dist               out/trotter-VERSION.tar.xz: what is committed, to build from
#   make deb                out/*.deb for Debian 12: trotter, libtrotter0, libtrotter-dev (dpkg-dev)
#   make peers              Boost.odeint, ARKODE and CVODE as peers of `trotter order --adaptive` and of
#                           studies/scripts/solving.py, each where it is
#                           (g++ and libboost-dev; libsundials-dev, 300 MB, which nothing else needs)
#   make deps               install the Debian packages (as root or through sudo); NO_DEPS=1 keeps every command from it
#   make clean              remove build/ and out/
#
# The CUDA backends are built where nvcc is found (PATH, /usr/local/cuda; Debian and Ubuntu: nvidia-cuda-toolkit, 11.8 or later);
# `make NO_CUDA=1` leaves them out, `make CUDA_ARCHS="75 120"` has machine code of these devices.
# `trotter serve` is built where libmicrohttpd is; `make NO_HTTP=1`.
# Training by several processes is built where Open MPI's header is (libopenmpi-dev); `make NO_MPI=1`. On several
# GPUs: where nccl.h is too; `make NO_NCCL=1`.
# One build directory per flavour: build/release, build/sanitize. Variables: CC, PREFIX, DESTDIR,
# FLAVOUR, JOBS, CMOCKA_FILTER (a test-name pattern). Precision and instruction set are run-time choices, not flavours.

comma   := ,
PREFIX  ?= /usr/local
FLAVOUR ?= release
JOBS    ?= $(shell nproc 2>/dev/null || echo 2)
CC      := $(if $(filter default undefined,$(origin CC)),gcc,$(CC))
CXX     := $(if $(filter default undefined,$(origin CXX)),g++,$(CXX))
B       := build/$(FLAVOUR)

PACKAGES = gcc g++ libc6-dev make pkg-config libgsl-dev libopenblas-openmp-dev libdnnl-dev libgmp-dev libflint-dev \
           $(if $(wildcard /usr/include/flint/arb.h),,libflint-arb-dev) librandom123-dev libunistring-dev libcmocka-dev \
           libjansson-dev libpcre2-dev libinih-dev nettle-dev libmicrohttpd-dev gnuplot-nox fonts-dejavu-core clang-format

# What a row of a table leaves out is 0, on purpose.
WARN   = -Wall -Wextra -Wpedantic -Wconversion -Wshadow -Wno-missing-field-initializers \
         -Werror=implicit-function-declaration $(CLANG) $(WERROR)
# clang tells where a loop marked `omp simd` stays as it is: those that call the C library or look for the largest number.
CLANG  = $(if $(findstring clang,$(notdir $(CC))),-Wno-pass-failed)
# What a wrong index or a format from outside could do ends the program instead (GCC: instrumentation options).
HARDEN = -U_FORTIFY_SOURCE -D_FORTIFY_SOURCE=3 -fstack-protector-strong
CFLAGS_release  = -O2 -g $(HARDEN)
CFLAGS_debug    = -O0 -g3
CFLAGS_sanitize = -O1 -g -fsanitize=address,undefined -fno-sanitize-recover=undefined \
                  -fno-omit-frame-pointer
CFLAGS_coverage = -O2 -g
CFLAGS_race     = -O1 -g
RACE   := $(if $(filter race,$(FLAVOUR)),-fsanitize=thread)
CFLAGS  ?= $(CFLAGS_$(FLAVOUR))
# Objects are good for the program and for the shared library alike.
PIC = -fPIC -fno-semantic-interposition
# With SOURCE_DATE_EPOCH, as for a release, the folder of the build leaves no trace in it.
PLACE = $(if $(SOURCE_DATE_EPOCH),-ffile-prefix-map=$(CURDIR)=.)
ALL_CFLAGS = -std=c17 -D_GNU_SOURCE -I. $(WARN) $(CFLAGS) $(PLACE) $(PIC) -fopenmp -MMD -MP
LDFLAGS += $(filter -fsanitize%,$(CFLAGS)) $(RACE) -fopenmp -Wl,-z,relro,-z,now
# The OpenMP build of OpenBLAS shares our threads; it is found beside the pthread build by path.
OPENBLAS_DIR := $(firstword $(wildcard /usr/lib/*/openblas-openmp))
# oneDNN's products of f32 where its header is there; `make NO_DNNL=1` leaves it out.
DNNL   := $(if $(NO_DNNL),,$(if $(wildcard /usr/include/dnnl.h),-DHAVE_DNNL))
# The web server of `trotter serve` likewise; `make NO_HTTP=1`.
HTTP   := $(if $(NO_HTTP),,$(if $(wildcard /usr/include/microhttpd.h),-DHAVE_MICROHTTPD))
# Open MPI, loaded by the processes that mpirun starts; `make NO_MPI=1` leaves it out.
MPI    := $(if $(NO_MPI),,$(patsubst -I%,-isystem %,$(shell pkg-config --cflags-only-I ompi-c 2>/dev/null)))
# Arb is a part of FLINT 3, of Debian 13 and Ubuntu 24.04, whose header is flint/arb.h; before, a library of its own, which
# Debian 12 calls flint-arb and others arb.
ARB    := $(patsubst %,-l%,$(if $(wildcard /usr/include/arb.h),$(if $(wildcard /usr/lib/*/libflint-arb.so),flint-arb,arb)))
LDLIBS  = -lgsl $(if $(OPENBLAS_DIR),-L$(OPENBLAS_DIR) -Wl$(comma)-rpath$(comma)$(OPENBLAS_DIR)) \
          -lopenblas $(if $(DNNL),-ldnnl) $(if $(HTTP),-lmicrohttpd) $(ARB) -lflint -lmpfr -lgmp -ljansson -lpcre2-8 -linih -lnettle -lunistring -lm

# ---- sources: every .c of a room belongs to it ---------------------------------------------------
ROOMS  = kernels ode nn bridge
LIBSRC = $(filter-out kernels/cpu/cpu.c,$(wildcard $(ROOMS:%=%/*.c) $(ROOMS:%=%/*/*.c)))
LIBOBJ = $(LIBSRC:%.c=$(B)/%.o) $(CPUOBJ)
# Peers and examples are programs of their own.
APPSRC = studies/commands.c $(filter-out %/peer/arkode.c studies/api/library/example/% %/site/typed.c,$(wildcard studies/*/*.c studies/*/*/*.c))
APPOBJ = $(APPSRC:%.c=$(B)/%.o)
# Tests that a stand-in of the device alone can run (VARIED). The shared library is of the release alone. Written for x86-64 are the
# fibres of that stand-in, and what reads the registers of traced programs (tests/faults).
ON_HOST = failures launches branches
FOR_X86 = $(if $(filter x86_64,$(MACHINE)),,tests/cuda/% tests/faults/% tests/lib/disk.c tests/lib/traced.c)
TESTSRC = $(filter-out $(FOR_X86) $(ON_HOST:%=tests/cuda/test_%.c) $(if $(filter release,$(FLAVOUR)),,tests/library/test_library.c),$(wildcard tests/*/test_*.c))
TESTS  = $(TESTSRC:%.c=$(B)/%)

# The readers of files and texts; what else `make fuzz` has compiled by clang is what builds a model
# from a file, and plots: the rest of the program is that of the release build.
READERS = ode/scheme/scheme ode/scheme/butcher ode/scheme/statement ode/scheme/expression ode/scheme/zoo ode/field/system_file ode/field/formula studies/base/option studies/base/frame \
          studies/model/network studies/model/metadata nn/text/read nn/text/words nn/text/text nn/text/vocab nn/text/corpus nn/text/folder nn/text/bpe nn/text/bpe_learn kernels/base/numbers nn/text/pairs \
          nn/model/store_in nn/model/store_model studies/model/metrics/lines studies/model/metrics/tokenise studies/model/metrics/detokenise studies/lab/finetune/labelled studies/page/serve/request
FUZZED  = $(READERS) ode/scheme/table ode/scheme/source_values ode/scheme/source_tables ode/scheme/source_print ode/scheme/compose ode/scheme/stage_kinds ode/scheme/pair ode/scheme/print ode/scheme/splitting ode/field/program ode/field/program_rules studies/base/output studies/base/sheet kernels/base/nearest \
          studies/base/plot/plot studies/base/plot/gnuplot studies/model/metrics/symbols studies/model/metrics/metric studies/model/metrics/bleu \
          studies/model/metrics/chrf studies/model/metrics/ter studies/model/metrics/bootstrap studies/model/metrics/agreement \
          nn/text/tokenizer nn/text/tokenizer_read nn/text/normalise nn/text/pretokens nn/text/pattern nn/foreign/foreign nn/foreign/foreign_config nn/foreign/foreign_tensors nn/foreign/family \
          nn/model/store_out nn/model/plan nn/model/fold nn/model/model nn/model/params nn/model/layout nn/model/arena bridge/compile kernels/base/error kernels/base/file kernels/base/memory

# Each tests/fuzz/NAME.c is a harness for libFuzzer; test_fuzz links all of them, as fuzz_NAME.
FUZZERS = $(filter-out seeds seal worst planted test_fuzz,$(patsubst tests/fuzz/%.c,%,$(wildcard tests/fuzz/*.c)))
FUZZOBJ = $(FUZZERS:%=$(B)/tests/fuzz/%.o) $(B)/tests/fuzz/seeds.o $(B)/tests/fuzz/seal.o $(B)/tests/fuzz/worst.o

# One source of the CPU kernels, for each precision and instruction set of the architecture (kernels/processor.h).
MACHINE := $(firstword $(subst -, ,$(shell $(CC) -dumpmachine 2>/dev/null)))
CPU_x86_64  = f32_v2 f32_v3 f32_v4 f64_v2 f64_v3 f64_v4 bf16_v4 bf16_amx
CPU_aarch64 = f32_v8 f32_sve256 f64_v8 f64_sve256 bf16_v8
CPU    = $(CPU_$(MACHINE))
CPUOBJ = $(CPU:%=$(B)/kernels/cpu_%.o)
ISA_v2 = -march=x86-64-v2
ISA_v3 = -march=x86-64-v3
ISA_v8 = -march=armv8-a
ISA_sve256 = -march=armv8.2-a+sve -msve-vector-bits=256
ISA_v4 = -march=x86-64-v4 -mprefer-vector-width=512
EXTRA_bf16_v4 = -mavx512bf16
EXTRA_bf16_v8 = -march=armv8.2-a+bf16
ISA_amx  = $(ISA_v4) -mavx512bf16 -mamx-tile -mamx-bf16
# Sums keep their order and NaN stays NaN: only errno and trap flags are given up, and a*b + c may round
# once.
OPT_CPU = $(if $(filter release,$(FLAVOUR)),-O3,) -fno-math-errno -fno-trapping-math -ffp-contract=fast

# nvcc, which may be a script that calls another, says itself where its libraries are; without a runtime
# to link it counts as absent.
NVCC_AT  := $(if $(NO_CUDA),,$(firstword $(shell command -v nvcc 2>/dev/null) $(wildcard /usr/local/cuda/bin/nvcc)))
CUDA_LIB := $(if $(NVCC_AT),$(abspath $(patsubst %/libcudart_static.a,%,$(firstword $(wildcard $(patsubst -L%,%/libcudart_static.a, \
            $(shell $(NVCC_AT) --dryrun -x cu /dev/null 2>&1 | sed -n 's/"//g; s/^.. LIBRARIES=//p')))))))
NVCC     := $(if $(CUDA_LIB),$(NVCC_AT))
$(if $(and $(NVCC_AT),$(shell command -v gcc)),$(if $(NVCC),,$(warning $(NVCC_AT) names no libcudart_static.a: building without CUDA)))
CUDAOBJ  := $(if $(NVCC),$(B)/kernels/cuda.o)
CUDALIBS := $(if $(NVCC),-L$(CUDA_LIB) -lcudart_static -ldl -lrt -lpthread -lstdc++)
# C++17 is what CUDA 11 takes. Machine code of 8.0 (which 8.6 and 8.9 run) and 9.0 and of the devices found here; PTX, which the driver
# translates when the program first starts there, of 7.5 and of 9.0 for 10.0, 12.0 and later; all as far as this nvcc knows them.
CUDA_STD   = -std=c++17
CUDA_KNOWN := $(if $(NVCC),$(shell $(NVCC) --list-gpu-arch 2>/dev/null | sed -n 's/compute_//p'))
CUDA_ARCHS := 80 90 $(if $(NVCC),$(shell nvidia-smi --query-gpu=compute_cap --format=csv,noheader 2>/dev/null | tr -d .))
CUDA_PTX   := $(filter 75,$(CUDA_KNOWN)) $(lastword $(filter 80 90,$(CUDA_KNOWN)))
NVCCFLAGS = $(CUDA_STD) -O3 -lineinfo -I. -Xcompiler -Wall,-Wextra,-fPIC $(patsubst %,-Xcompiler %,$(HARDEN)) $(if $(NO_NCCL),-DNO_NCCL) \
            $(foreach a,$(sort $(filter $(CUDA_KNOWN),$(CUDA_ARCHS))),-gencode arch=compute_$(a)$(comma)code=sm_$(a)) \
            $(foreach a,$(CUDA_PTX),-gencode arch=compute_$(a)$(comma)code=compute_$(a))

.PHONY: help build check check-sanitize demo lint format install deps clean
.DELETE_ON_ERROR:
.SECONDARY:

help:
	@sed -n '1,/^$$/s/^# \{0,1\}//p' Makefile

build: deps
	@$(MAKE) --no-print-directory -j$(JOBS) build/trotter

build/trotter: $(B)/trotter
	@cp $< $@.new && mv $@.new $@

# Objects of backends that the list of backends knows only weakly stand beside the library.
$(B)/trotter: $(B)/studies/main.o $(CUDAOBJ) $(B)/libstudies.a $(B)/libtrotter.a
	$(CC) $(LDFLAGS) -o $@ $^ $(LDLIBS) $(CUDALIBS)

# All of studies/ but main: tests link what they need of it.
$(B)/libstudies.a: $(APPOBJ)
	@rm -f $@
	$(AR) rcs $@ $^

$(B)/libtrotter.a: $(LIBOBJ)
	@rm -f $@
	$(AR) rcs $@ $^

# The library for others' programs has what studies/api/library/trotter.h tells, and keeps the rest inside.
VERSION   := $(shell sed -n 's/^.define TROTTER_VERSION "\([0-9.]*\).*"/\1/p' studies/base/command.h)
SONAME     = libtrotter.so.$(firstword $(subst ., ,$(VERSION)))
SHARED     = $(B)/$(SONAME)
LIBRARYOBJ = $(patsubst %.c,$(B)/%.o,$(wildcard studies/api/library/library_*.c))
$(SHARED): studies/api/library/trotter.map $(LIBRARYOBJ) $(CUDAOBJ) $(B)/libstudies.a $(B)/libtrotter.a
	$(CC) $(LDFLAGS) -shared -Wl,-soname,$(SONAME) -Wl,--version-script=$< -Wl,-z,defs -o $@ $(filter-out %.map,$^) $(LDLIBS) $(CUDALIBS)
	@ln -sf $(SONAME) $(B)/libtrotter.so
shared: deps
	@$(MAKE) --no-print-directory -j$(JOBS) $(SHARED)
.PHONY: shared
# The same for pip: the module with the library in it, for systems like this one.
wheel: shared
	@mkdir -p build/wheel
	@cd studies/api/python && NO_DEPS=1 PYTHONDONTWRITEBYTECODE=1 python3 -c 'import backend; print("build/wheel/" + backend.build_wheel("../../../build/wheel"))'
.PHONY: wheel

$(B)/%.o: %.c Makefile
	@mkdir -p $(@D)
	$(CC) $(ALL_CFLAGS) -c -o $@ $<

# $(1): precision and instruction set, f32_v2.
define CPU_RULE
$(B)/kernels/cpu_$(1).o: kernels/cpu/cpu.c Makefile
	@mkdir -p $$(@D)
	$$(CC) $$(ALL_CFLAGS) $$(OPT_CPU) $$(ISA_$(lastword $(subst _, ,$(1)))) $$(EXTRA_$(1)) $$(DNNL) \
	  -DPRECISION_$(firstword $(subst _, ,$(1))) -DPRECISION=$(firstword $(subst _, ,$(1))) \
	  -DKERNEL=$(lastword $(subst _, ,$(1))) -c -o $$@ $$<
endef
$(foreach i,$(CPU),$(eval $(call CPU_RULE,$(i))))

# What was found here when objects were made; those that depend on it are made again where it is another.
$(B)/found-%: FORCE
	@mkdir -p $(@D); echo '$($*)' | cmp -s - $@ || echo '$($*)' >$@
$(B)/kernels/mpi.o: $(B)/found-MPI
$(CPUOBJ): $(B)/found-DNNL
.PHONY: FORCE

$(B)/studies/page/serve/server.o: ALL_CFLAGS += $(HTTP)
$(B)/kernels/mpi.o: ALL_CFLAGS += $(if $(MPI),-DHAVE_MPI $(MPI))

# ---- CUDA: one source --------------------------------------------------------------------------------
# The runtime is linked in, cuBLAS is found when the program runs. The machine code that nvcc makes on the way stays beside the
# object, for test_machine_code.
CUBINS = $(B)/kernels/cubins
$(B)/kernels/cuda.o: kernels/cuda/cuda.cu Makefile
	@mkdir -p $(CUBINS)
	$(NVCC) $(NVCCFLAGS) --keep --keep-dir $(CUBINS) -MMD -MP -MF $(@:.o=.d) -c -o $@ $<
	@find $(CUBINS) -type f ! -name '*.cubin' -delete

# Loops with a comparison or a root vectorise once errno and trap flags are given up; values stay.
$(B)/ode/%.o: ALL_CFLAGS += -fno-math-errno -fno-trapping-math
# The hot ones may round a*b + c once, where the processor can; exact sums stay exact. clang chooses which product anew in each copy of a
# loop, and the same sum has to have the same bits in all.
ODE_HOT = field/combine systems/attention systems/hamilton systems/reaction
$(ODE_HOT:%=$(B)/ode/%.o): ALL_CFLAGS += -ffp-contract=$(if $(CLANG),off,fast)

# GCC notes that a union of a long double is passed in another way than before GCC 4.4.
$(B)/ode/theory/repair.o $(B)/ode/theory/repair_model.o $(B)/ode/theory/repair_modular.o: ALL_CFLAGS += -Wno-psabi

# Texts that are embedded (by .incbin) rebuild the object that holds them.
$(B)/ode/scheme/zoo.o: ode/scheme/zoo.scheme
$(B)/studies/theory/certificate.o: $(wildcard studies/theory/certificate_*.v)
$(B)/nn/text/builtin.o: $(wildcard nn/kjv/*)
$(B)/studies/page/report/page.o: studies/page/report/page.css
$(B)/studies/page/serve/server.o: $(wildcard studies/page/serve/page.*) studies/page/told/scheme.js $(B)/found-HTTP

# ---- tests ---------------------------------------------------------------------------------------
TESTLIB = $(patsubst %.c,$(B)/%.o,$(filter-out $(FOR_X86),$(wildcard tests/lib/*.c)))
# Without optimisation a test is compiled in a fifth of the time, and gold links it in a third; references of kernels
# calculate more than that saves.
ifeq ($(FLAVOUR),release)
$(B)/tests/%: LDFLAGS += $(if $(GOLD),-fuse-ld=gold)
$(filter-out $(B)/tests/kernels/%,$(TESTSRC:%.c=$(B)/%.o)): ALL_CFLAGS += -O0 -U_FORTIFY_SOURCE
endif
GOLD := $(shell command -v ld.gold)
$(TESTS): %: %.o $(TESTLIB) $(B)/libstudies.a $(B)/libtrotter.a
	$(CC) $(LDFLAGS) -o $@ $(filter-out %.a,$^) $(filter %.a,$^) -lcmocka $(LDLIBS)

# All but those that bring a CUDA runtime of their own have the device's backends.
ON_DEVICE = $(filter-out $(B)/tests/cuda/%,$(TESTS))
$(ON_DEVICE): $(CUDAOBJ)
$(ON_DEVICE): LDLIBS += $(CUDALIBS)

# Kernels run in tests without a device: their source is compiled by g++ against the CUDA runtime of
# tests/cuda, under the same names.
CUDA_HOST = $(patsubst %,$(B)/tests/cuda/%.o,block heap memory stream launch runtime blas)
ALL_CXXFLAGS = -std=gnu++20 -D_GNU_SOURCE -DTROTTER_CUDA_HOST -I. -Itests/cuda -Wall -Wextra $(CFLAGS) \
               -fno-exceptions -fno-rtti $(RACE) -MMD -MP $(if $(filter release,$(FLAVOUR)),-g0)
$(filter $(B)/tests/cuda/%,$(TESTS)): $(CUDA_HOST) $(B)/tests/cuda/example.o
$(B)/tests/cuda/%.o: ALL_CFLAGS += -DTROTTER_CUDA_HOST -Itests/cuda \
                      $(if $(RACE),-DCUDA_HOST_RACE -Wno-unused-function)

$(B)/tests/cuda/%.o: tests/cuda/%.cu Makefile
	@mkdir -p $(@D)
	$(CXX) -x c++ $(ALL_CXXFLAGS) -c -o $@ $<

$(B)/tests/cuda/%.o: kernels/cuda/%.cu Makefile
	@mkdir -p $(@D)
	$(CXX) -x c++ $(ALL_CXXFLAGS) -c -o $@ $<

# The device's backends on it: programs that loop over backends, and what only a stand-in can make go wrong;
# run.sh runs one in two orders of threads.
VARIED   = $(if $(FOR_X86),,$(DEVICE_TESTS))
DEVICE_TESTS = kernels/test_kernels kernels/test_decode_kernels kernels/test_attention_kernels kernels/test_backend bridge/test_device $(ON_HOST:%=cuda/test_%) nn/test_twin nn/test_ways nn/test_adaptive \
           nn/test_share nn/test_sides nn/test_filled nn/test_decode bridge/test_decode_plans commands/test_gpus
VARIANTS = $(foreach t,$(VARIED),$(B)/tests/cuda/cuda_$(notdir $(t)))
VARIANT  = $(B)/tests/cuda/cuda.o $(B)/tests/cuda/variant.o $(CUDA_HOST) $(TESTLIB) $(B)/libtrotter.a
define VARIANT_RULE
$(B)/tests/cuda/cuda_$(notdir $(1)): $(B)/tests/$(1).o $(VARIANT)
	$$(CC) $$(LDFLAGS) -o $$@ $$(filter-out %.a,$$^) $$(filter %.a,$$^) -lcmocka $$(LDLIBS)
endef
$(foreach t,$(filter-out cuda/test_launches,$(VARIED)),$(eval $(call VARIANT_RULE,$(t))))

# test_launches counts bytes too: every access of its kernels is a call (tests/cuda/bytes.c).
COUNTED = $(B)/tests/cuda/cuda_counted.o $(B)/tests/cuda/bytes.o $(filter-out $(B)/tests/cuda/cuda.o,$(VARIANT))
$(B)/tests/cuda/cuda_test_launches: $(B)/tests/cuda/test_launches.o $(COUNTED)
	$(CC) $(LDFLAGS) -Wl,--wrap=cublasGemmEx -Wl,--wrap=cublasLtMatmul -o $@ $(filter-out %.a,$^) $(filter %.a,$^) -lcmocka $(LDLIBS)
$(B)/tests/cuda/cuda_counted.o: kernels/cuda/cuda.cu Makefile
	@mkdir -p $(@D)
	$(CXX) -x c++ $(filter-out -fsanitize%,$(ALL_CXXFLAGS)) -fsanitize=thread -c -o $@ $<

# The program itself on it, and a library in NCCL's place for its ranks; what a rank may get wrong is spoil.c.
$(B)/tests/cuda/cuda_trotter: $(B)/studies/main.o $(APPOBJ) $(filter-out $(TESTLIB),$(VARIANT)) $(B)/tests/cuda/spoil.o
	$(CC) $(LDFLAGS) -Wl,--wrap=share_batch -o $@ $(filter-out %.a,$^) $(filter %.a,$^) $(LDLIBS)
$(B)/tests/cuda/cuda_trotter $(B)/tests/cuda/cuda_test_gpus: private LDFLAGS += -rdynamic
$(B)/tests/cuda/nccl/libnccl.so.2: tests/cuda/nccl.c Makefile
	@mkdir -p $(@D)
	$(CC) $(ALL_CFLAGS) -DTROTTER_CUDA_HOST -Itests/cuda -fPIC -shared -Wl,-soname,libnccl.so.2 -o $@ $<
$(B)/tests/commands/test_gpu_script: | $(if $(FOR_X86),,$(B)/tests/cuda/cuda_trotter)
$(B)/tests/cuda/cuda_test_gpus: | $(B)/tests/cuda/cuda_trotter $(B)/tests/cuda/nccl/libnccl.so.2

# Kernels alone instrumented by ThreadSanitizer, each CUDA thread a thread to it.
$(B)/tests/race: $(B)/tests/cuda/test_cuda_host.o $(B)/tests/lib/test.o $(CUDA_HOST) $(B)/tests/cuda/example.o $(B)/kernels/base/random.o
	$(CC) $(LDFLAGS) -o $@ $^ -lcmocka $(LDLIBS)

check-race: deps
	@$(MAKE) --no-print-directory -j$(JOBS) FLAVOUR=race build/race/tests/race
	@TSAN_OPTIONS=halt_on_error=1 build/race/tests/race
.PHONY: check-race

# The same source must please nvcc, where it is.
build/nvcc/%.o: %.cu Makefile
	@mkdir -p $(@D)
	$(NVCC) $(CUDA_STD) -O2 -I. -arch=sm_80 -Xcompiler -Wall -c -o $@ $<

# Kernels that spill, beside the program's own machine code, for test_machine_code.
MACHINE_CODE = $(if $(NVCC),$(if $(filter release,$(FLAVOUR)),$(patsubst %,$(B)/tests/cuda/machine_code.%.cubin,sm_80 sm_90)))
$(B)/tests/cuda/machine_code.%.cubin: tests/cuda/machine_code.cu Makefile
	@mkdir -p $(@D)
	$(NVCC) $(CUDA_STD) -O3 -I. -arch=$* -MMD -MP -MF $(@:.cubin=.d) -cubin -o $@ $<
$(B)/tests/cuda/test_machine_code: | $(MACHINE_CODE) $(CUDAOBJ)

tests: $(if $(filter release,$(FLAVOUR)),$(SHARED)) $(TESTS) $(VARIANTS) $(if $(NVCC),build/nvcc/tests/cuda/example.o)
.PHONY: tests

check: deps
	@$(MAKE) --no-print-directory -j$(JOBS) build/trotter tests
	@$(if $(FOR_X86),echo "# skipped: $(FOR_X86)$(comma) which are written for x86-64")
	@sh tests/scripts/run.sh $(B) $(VARIANTS) $(TESTS)

# Tests that live on what another one left fail in one of three drawn orders, or alone.
check-order: deps
	@$(MAKE) --no-print-directory -j$(JOBS) build/trotter tests
	@for n in 1 2 3; do TROTTER_SHUFFLE=$$n sh tests/scripts/run.sh $(B) $(VARIANTS) $(TESTS) || exit 1; done
	@! for p in $(VARIANTS) $(TESTS); do cat $(B)/tests/$${p##*/}.log $(B)/tests/$${p##*/}-7.log 2>/dev/null | sed -n 's/^ok [0-9]* - //p' | \
	    while read -r t; do CMOCKA_FILTER=$$t TROTTER=$(B)/trotter OMP_WAIT_POLICY=passive $$p </dev/null >$(B)/tests/alone.log 2>&1 || \
	    echo "not ok: $${p##*/} $$t alone: $(B)/tests/alone.log"; done; done | grep .
.PHONY: check-order

# Tests that run programs, where some of these are not to be found. test_bare runs those alone that skip.
RUNNERS = $(filter-out test_bare test_faults test_tour test_costs,$(notdir $(patsubst %.c,%,$(shell grep -lE \
          'TROTTER"|tests/lib/(mpirun|program|study)\.h' tests/*/test_*.c))))
check-bare: deps
	@$(MAKE) --no-print-directory -j$(JOBS) build/trotter tests
	@sh tests/scripts/bare.sh $(B) tests/scripts/bare.skips $(RUNNERS) test_store $(if $(FOR_X86),,cuda_test_gpus)
$(B)/tests/scripts/test_bare: | $(filter $(addprefix %/,$(sort $(shell cut -d' ' -f1 tests/scripts/bare.skips))),$(TESTS) $(VARIANTS))

# Tests of several processes, which Open MPI must be here for.
RANKS = $(B)/tests/commands/test_ranks $(B)/tests/commands/test_gpus $(B)/tests/cuda/cuda_test_gpus
check-ranks: deps
	@$(MAKE) --no-print-directory -j$(JOBS) build/trotter $(RANKS)
	@TROTTER_NEED_RANKS=1 TOGETHER=1 sh tests/scripts/run.sh $(B) $(RANKS)
# What needs NumPy: the library from Python, models and modules read by it.
NUMPY = $(B)/tests/library/test_library $(B)/tests/library/test_modules
check-python: deps
	@sh studies/scripts/deps.sh python3-numpy
	@$(MAKE) --no-print-directory -j$(JOBS) build/trotter $(SHARED) $(NUMPY)
	@TROTTER_NEED_NUMPY=1 CMOCKA_FILTER='*python*,*numpy*,the_notebook,the_wheel,modules_*' sh tests/scripts/run.sh $(B) $(NUMPY)
# The library in other people's processes; a flavour of its own has it for ThreadSanitizer.
check-library: build
	@$(MAKE) --no-print-directory -j$(JOBS) $(SHARED)
	@$(MAKE) --no-print-directory -j$(JOBS) FLAVOUR=thread CFLAGS='-O1 -g -fsanitize=thread' build/thread/libstudies.a build/thread/libtrotter.a
	@sh tests/scripts/library.sh $(B) build/thread "$(CC)" "$(LDLIBS)"
check-machines: build
	@sh tests/scripts/machines.sh build/trotter
.PHONY: check-bare check-ranks check-python check-library check-machines

check-sanitize: deps
	@$(MAKE) --no-print-directory -j$(JOBS) FLAVOUR=sanitize build/sanitize/trotter tests
	@$(MAKE) --no-print-directory FLAVOUR=sanitize run-tests

# PyTorch reads our weights: Debian's python3-torch, or any through PYTHON=.
PYTHON ?= /usr/bin/python3
check-peer: deps
	@$(MAKE) --no-print-directory -j$(JOBS) $(B)/tests/peer/dump
	@if command -v $(PYTHON) >/dev/null; then $(PYTHON) tests/peer/peer_torch.py $(B)/tests/peer/dump; \
	else echo "check-peer: SKIPPED, no $(PYTHON): apt-get install python3-torch"; fi

$(B)/tests/peer/dump: $(B)/tests/peer/dump.o $(CUDAOBJ) $(B)/libtrotter.a
	$(CC) $(LDFLAGS) -o $@ $^ $(LDLIBS) $(CUDALIBS)
.PHONY: check-peer

# Of each command: system calls and allocations that fail, and disks after power cuts; 0: all disks, and one fault of each place of the program.
FAULTS ?= 300
check-faults: build
	@$(MAKE) --no-print-directory -j$(JOBS) $(B)/tests/faults/test_calls $(B)/tests/faults/test_power $(B)/tests/faults/test_costs
	TROTTER=$(B)/trotter TROTTER_SWEEP=0 OMP_WAIT_POLICY=passive $(B)/tests/faults/test_costs
	TROTTER=$(B)/trotter TROTTER_POWER=$(FAULTS) TROTTER_FAULT_SEED=$(SEED) OMP_WAIT_POLICY=passive $(B)/tests/faults/test_power
	TROTTER=$(B)/trotter TROTTER_CALLS=$(FAULTS) TROTTER_FAULT_SEED=$(SEED) OMP_WAIT_POLICY=passive $(B)/tests/faults/test_calls
# Builds that are the same bytes; gcc -O0 and -O3, and clang, without a warning.
check-builds: deps
	@sh tests/scripts/builds.sh $(JOBS)
.PHONY: check-faults check-builds

# What a release is held to beside `make check`, in order of time.
release-check: deps
	@MAKE='$(MAKE)' sh tests/scripts/release.sh tests/measured.txt check-bare check-order check-race check-library check-machines check-builds check-faults
.PHONY: release-check

SEED ?= 1
soak: build
	@$(MAKE) --no-print-directory -j$(JOBS) $(addprefix $(B)/tests/,faults/test_faults faults/test_tour faults/test_goes_on ode/test_drawn)
	for t in faults/test_goes_on ode/test_drawn; do TROTTER=$(B)/trotter TROTTER_DRAWS=300 TROTTER_DRAWS_SEED=$(SEED) OMP_WAIT_POLICY=passive $(B)/tests/$$t || exit 1; done
	TROTTER=$(B)/trotter TROTTER_FAULTS=1000 TROTTER_FAULT_SEED=$(SEED) OMP_WAIT_POLICY=passive $(B)/tests/faults/test_faults
	TROTTER=$(B)/trotter TROTTER_TOUR=1000 TROTTER_TOUR_SEED=$(SEED) OMP_WAIT_POLICY=passive $(B)/tests/faults/test_tour
.PHONY: soak

# Bytes a step that resident memory may grow by: a leak of one small block a step is 32.
GROWTH ?= 8
soak-memory: build
	@sh tests/scripts/soak.sh $(B)/trotter $(TIME) $(GROWTH)

check-valgrind: build
	@sh studies/scripts/deps.sh valgrind || true
	@if ! command -v valgrind >/dev/null; then echo "check-valgrind: SKIPPED, no valgrind: apt-get install valgrind"; else \
	sh tests/scripts/valgrind.sh $(B)/trotter; fi

analyse: deps
	@sh studies/scripts/deps.sh cppcheck clang-tidy || true
	@JOBS=$(JOBS) sh tests/scripts/analyse.sh $(ANALYSE)
.PHONY: soak-memory check-valgrind analyse

# ---- fuzzing and coverage ------------------------------------------------------------------------
$(FUZZERS:%=$(B)/tests/fuzz/%.o): $(B)/tests/fuzz/%.o: tests/fuzz/%.c Makefile
	@mkdir -p $(@D)
	$(CC) $(ALL_CFLAGS) -DLLVMFuzzerTestOneInput=fuzz_$* -c -o $@ $<
$(B)/tests/fuzz/test_fuzz.o: ALL_CFLAGS += '-DFUZZ_LIST=$(foreach f,$(FUZZERS),X($(f)))'
$(B)/tests/fuzz/test_fuzz.o: $(FUZZERS:%=tests/fuzz/%.c)
$(B)/tests/fuzz/test_fuzz: $(FUZZOBJ)
$(B)/tests/studies/test_gnuplot: $(B)/tests/fuzz/seal.o

FUZZ_CFLAGS  = -std=c17 -D_GNU_SOURCE -I. -include stdio.h -O1 -g -fno-omit-frame-pointer -Wno-unknown-pragmas \
               -fsanitize=address,undefined -fno-sanitize-recover=undefined
# ENGINE=afl: AFL++ runs the same harnesses.
ENGINE ?= libfuzzer
FUZZ_CC      = $(if $(filter afl,$(ENGINE)),afl-clang-fast,clang)
# Operands of comparisons are recorded in readers alone: in judges and scores this took up to half of the time.
FUZZ_EDGES   = $(if $(filter afl,$(ENGINE)),,-fsanitize=fuzzer-no-link$(if $(filter $(READERS) ode/scheme/source_% tests/fuzz/planted,$*),, -fno-sanitize-coverage=trace-cmp))
FUZZ_PACKAGES = $(if $(filter afl,$(ENGINE)),afl++,clang libclang-rt-14-dev)
FUZZ_RUN     = $(if $(filter afl,$(ENGINE)),tests/scripts/afl.sh,tests/scripts/fuzz.sh)
F = $(if $(filter afl,$(ENGINE)),build/afl,build/fuzz)
TIME   ?= 600
# Of libFuzzer's mutations; 0: another every time.
FUZZ_SEED ?= 0
READER ?= $(FUZZERS)

fuzz: deps
	@sh studies/scripts/deps.sh $(FUZZ_PACKAGES) || true
	@if ! command -v $(FUZZ_CC) >/dev/null; then echo "make fuzz: SKIPPED, no $(FUZZ_CC): apt-get install $(FUZZ_PACKAGES)"; else \
	$(MAKE) --no-print-directory -j$(JOBS) FLAVOUR=release $(READER:%=$(F)/%) $(F)/planted build/release/tests/fuzz/test_fuzz && \
	FUZZ_SEED=$(FUZZ_SEED) sh $(FUZZ_RUN) $(F) $(TIME) build/release/tests/fuzz/test_fuzz $(READER); fi

# Branches of each reader that the inputs kept in build/fuzz take.
COVERED = -fprofile-instr-generate -fcoverage-mapping
fuzz-coverage: deps
	@$(MAKE) --no-print-directory -j$(JOBS) FLAVOUR=release F=build/cover FUZZ_CFLAGS='$(filter-out -fsanitize% -fno-sanitize%,$(FUZZ_CFLAGS)) $(COVERED)' $(READER:%=build/cover/%)
	@sh tests/scripts/fuzz_coverage.sh build/cover build/fuzz "$(READERS:%=%.c)" $(READER)
.PHONY: fuzz-coverage

$(F)/lib/%.o: %.c Makefile
	@mkdir -p $(@D)
	$(FUZZ_CC) $(FUZZ_CFLAGS) $(FUZZ_EDGES) -MMD -MP -c -o $@ $<
$(F)/lib/tests/fuzz/planted.o: FUZZ_CFLAGS += -DPLANTED
$(F)/%: $(F)/lib/tests/fuzz/%.o $(F)/lib/tests/fuzz/seeds.o $(F)/lib/tests/fuzz/seal.o $(F)/lib/tests/fuzz/worst.o $(FUZZED:%=$(F)/lib/%.o) $(B)/tests/lib/tiny.o $(B)/libstudies.a $(B)/libtrotter.a
	$(FUZZ_CC) $(FUZZ_CFLAGS) -fsanitize=fuzzer -o $@ $(filter-out %.a,$^) $(filter %.a,$^) -lcmocka $(LDLIBS) -lgomp

$(B)/tests/faults/test_faults: $(B)/tests/fuzz/seal.o
$(B)/tests/faults/starve.so: tests/faults/starve.c tests/faults/network.c tests/faults/copies.h tests/lib/traced.h Makefile
	@mkdir -p $(@D)
	$(CC) -D_GNU_SOURCE -I. -O2 -fPIC -shared $(WARN) -o $@ $(filter %.c,$^)
$(addprefix $(B)/tests/faults/test_,calls costs goes_on network power tour): | $(B)/tests/faults/starve.so

# The tests that reach the readers.
COVERING = readers bleu labelled bleu_command options identity starved scheme system_file system_command corpus bpe bpe_dropout pair_corpus pair_files store \
           store_model recipe cli_train \
           cli generate plot fuzz report serve butcher foreign piece_models tokenizer tokenizer_models pieces translate pairs texts

COVER = $(foreach c,$(COVERING),$(patsubst %.c,build/coverage/%,$(filter %/test_$(c).c,$(TESTSRC))))

ifeq ($(FLAVOUR),coverage)
$(READERS:%=$(B)/%.o): ALL_CFLAGS += --coverage -O0
LDFLAGS += --coverage
endif

coverage: deps
	@$(MAKE) --no-print-directory -j$(JOBS) FLAVOUR=coverage build/coverage/trotter $(COVER)
	@sh tests/scripts/coverage.sh build/coverage "$(COVER)" $(READERS)
.PHONY: fuzz coverage

# Faults in the sources of these folders, each given to the tests that execute its line (tests/scripts/mutants.py).
ROOM  ?= ode/theory ode/step bridge nn/run nn/model studies/base/statistics
COUNT ?= 100
mutants: deps
	@$(MAKE) --no-print-directory -j$(JOBS) $(B)/trotter $(TESTS)
	@python3 tests/scripts/mutants.py $(SEED) $(COUNT) $(ROOM)
.PHONY: mutants

run-tests:
	@$(if $(FOR_X86),echo "# skipped: $(FOR_X86)$(comma) which are written for x86-64")
	@sh tests/scripts/run.sh $(B) $(VARIANTS) $(TESTS)
.PHONY: run-tests

# An illustration in small of four of the 13 designs of studies/results/one-layer; demo.sh has the recipe.
demo: build
	@sh studies/scripts/demo.sh out/demo

gallery: build
	@sh studies/scripts/gallery.sh build/trotter studies/scripts/gallery.txt out/gallery
.PHONY: gallery

# The atlas: a page a method, the findings, the manual (studies/page/site/README.md); METHODS="rk4 heun": of these alone.
SITE ?= out/site
$(B)/typed: $(B)/studies/page/site/typed.o $(B)/libstudies.a $(B)/libtrotter.a
	$(CC) $(LDFLAGS) -o $@ $^ $(LDLIBS)
site: man
	@$(MAKE) --no-print-directory $(B)/typed
	@JOBS=$(JOBS) sh studies/page/site/site.sh $(SITE) $(METHODS)
# What the atlas tells of a scheme that is typed, for browsers: by Emscripten, from source packages. Some minutes, the first time.
wasm:
	@$(if $(NO_DEPS),,sh studies/scripts/deps.sh emscripten node-acorn dpkg-dev)
	@JOBS=$(JOBS) sh studies/page/site/wasm.sh
.PHONY: wasm
$(B)/tests/scripts/test_site: | $(B)/typed
.PHONY: site

lint:
	@sh tests/scripts/lint.sh && sh tests/scripts/circles.sh $(B)

format:
	@clang-format -i $(wildcard $(addsuffix /*.[ch],$(ROOMS) $(ROOMS:%=%/*) studies studies/* studies/*/* tests/*) tests/cuda/*.cu kernels/cuda/*.cu kernels/cuda/*.cuh)

# ---- a machine with a GPU ------------------------------------------------------------------------
BUNDLED = $(patsubst %,$(B)/tests/%,$(shell sed -n "s/^device_tests='\(.*\)'/\1/p" studies/scripts/gpu.sh))
bundle: deps
	@$(MAKE) --no-print-directory -j$(JOBS) build/trotter $(BUNDLED)
	@mkdir -p out
	@sh studies/scripts/bundle.sh out/trotter-gpu.tar.xz $(B)/trotter $(BUNDLED) $(PEER:%=--add %)
.PHONY: bundle

# ---- peers of the benchmark ----------------------------------------------------------------------
# Only timed against; nothing else needs them. As fast as their users can have them.
peers:
	@$(MAKE) --no-print-directory -k build/peers/boost_ode.so build/peers/arkode.so
.PHONY: peers

build/peers/arkode.so: studies/bench/peer/arkode.c studies/solve/peer.h
	@echo '#include <arkode/arkode_erkstep.h>' | $(CC) -E - >/dev/null 2>&1 || \
	    { echo "make peers: skipped: ARKODE is missing (apt-get install libsundials-dev)" >&2; exit 1; }
	@mkdir -p $(@D)
	$(CC) -std=c17 -O3 -march=native -I. -Wall -Wextra -fPIC -shared -o $@ $< -lsundials_arkode -lsundials_cvode \
	    -lsundials_nvecserial -lsundials_sunlinsolband -lsundials_sunlinsoldense -lsundials_sunmatrixband \
	    -lsundials_sunmatrixdense -lsundials_generic

build/peers/boost_ode.so: studies/bench/peer/boost_ode.cpp studies/solve/peer.h
	@command -v g++ >/dev/null || { echo "make peers: skipped: g++ is missing" >&2; exit 1; }
	@echo '#include <boost/numeric/odeint.hpp>' | g++ -E -xc++ - >/dev/null 2>&1 || \
	    { echo "make peers: skipped: Boost.odeint is missing (apt-get install libboost-dev)" >&2; exit 1; }
	@mkdir -p $(@D)
	g++ -std=c++17 -O3 -march=native -DNDEBUG -I. -Wall -Wextra -fPIC -shared -o $@ $<

# ---- set-up --------------------------------------------------------------------------------------
# `make NO_DEPS=1 build` uses what is there; elsewhere than on Debian install the equivalents of PACKAGES by hand.
deps:
	@$(if $(NO_DEPS),true,sh studies/scripts/deps.sh $(PACKAGES))

debug: deps
	@$(MAKE) --no-print-directory -j$(JOBS) FLAVOUR=debug build/debug/trotter

# Written by the program from the tables that --help prints.
man: build
	@rm -rf build/man
	build/trotter manual --out build/man
	awk -v version=$(VERSION) -f studies/page/manual/schemes.awk ode/scheme/README.md >build/man/trotter-schemes.5
	awk -v version=$(VERSION) -f studies/api/library/man.awk studies/api/library/trotter.h >build/man/trotter.3
	awk -v version=$(VERSION) -v dir=build/man -f studies/api/library/functions.awk studies/api/library/trotter.h

SHARE      = $(DESTDIR)$(PREFIX)/share
COMPLETION = $(SHARE)/bash-completion/completions/trotter
LIBDIR     = $(PREFIX)/lib
install: man shared
	install -D -m 755 build/trotter '$(DESTDIR)$(PREFIX)/bin/trotter'
	install -D -m 644 $(SHARED) '$(DESTDIR)$(LIBDIR)/$(SONAME)'
	ln -sf $(SONAME) '$(DESTDIR)$(LIBDIR)/libtrotter.so'
	install -D -m 644 studies/api/library/trotter.h '$(DESTDIR)$(PREFIX)/include/trotter.h'
	install -d -m 755 '$(DESTDIR)$(LIBDIR)/pkgconfig' '$(SHARE)/man/man1' '$(SHARE)/man/man3' '$(SHARE)/man/man5'
	@PREFIX='$(PREFIX)' LIBDIR='$(LIBDIR)' VERSION='$(VERSION)' awk '{ for (k in ENVIRON) if (i = index($$0, "@" k "@")) \
	    $$0 = substr($$0, 1, i - 1) ENVIRON[k] substr($$0, i + length(k) + 2); print }' studies/api/library/trotter.pc.in >build/trotter.pc
	install -m 644 build/trotter.pc '$(DESTDIR)$(LIBDIR)/pkgconfig/trotter.pc'
	for n in 1 3 5; do install -m 644 build/man/*.$$n '$(SHARE)/man/man'$$n || exit; done
	install -D -m 644 build/man/trotter.bash '$(COMPLETION)'

uninstall:
	rm -f '$(DESTDIR)$(LIBDIR)/libtrotter.so' '$(DESTDIR)$(LIBDIR)/$(SONAME)' '$(DESTDIR)$(PREFIX)/include/trotter.h' \
	    '$(DESTDIR)$(LIBDIR)/pkgconfig/trotter.pc'
	rm -f '$(DESTDIR)$(PREFIX)/bin/trotter' '$(SHARE)/man/man1/trotter'[.-]* '$(SHARE)/man/man3/trotter'[._]* '$(SHARE)/man/man5/trotter-'* '$(COMPLETION)'

# ---- releases --------------------------------------------------------------------------------------
dist:
	@mkdir -p out
	git archive --prefix=trotter-$(VERSION)/ HEAD | xz >out/trotter-$(VERSION).tar.xz

# Debian has one OpenBLAS by name; which of its builds that is, the package's dependency says, and not a path.
PLAIN = $(filter-out -Wl$(comma)-rpath%,$(LDLIBS))
build/deb/trotter: $(B)/trotter
	@mkdir -p $(@D)
	$(CC) $(LDFLAGS) -o $@ $(B)/studies/main.o $(CUDAOBJ) $(B)/libstudies.a $(B)/libtrotter.a $(PLAIN) $(CUDALIBS)
build/deb/$(SONAME): $(SHARED)
	@mkdir -p $(@D)
	$(CC) $(LDFLAGS) -shared -Wl,-soname,$(SONAME) -Wl,--version-script=studies/api/library/trotter.map -Wl,-z,defs -o $@ $(LIBRARYOBJ) $(CUDAOBJ) \
	    $(B)/libstudies.a $(B)/libtrotter.a $(PLAIN) $(CUDALIBS)

deb: man shared
	@$(MAKE) --no-print-directory build/deb/trotter build/deb/$(SONAME)
	@$(MAKE) --no-print-directory install DESTDIR=build/deb/all PREFIX=/usr LIBDIR=/usr/lib/$(shell $(CC) -print-multiarch)
	@sh studies/scripts/deb.sh build/deb $(VERSION) $(SONAME)
.PHONY: dist deb

# One entry for every .c that the program and its tests are compiled of.
compile_commands.json: FORCE
	@$(MAKE) -nB FLAVOUR=release NO_DEPS=1 build/trotter tests 2>/dev/null | awk -v dir="$(CURDIR)" ' \
	    /^(gcc|cc|clang|$(notdir $(CC))) .* -c -o [^ ]+ [^ ]+\.c$$/ { gsub(/["\\]/, "\\\\&"); \
	        printf "%s{\"directory\": \"%s\", \"file\": \"%s\", \"command\": \"%s\"}", n++ ? ",\n" : "[\n", dir, $$NF, $$0 } \
	    END { print n ? "\n]" : "[]" }' >$@
.PHONY: debug man uninstall

clean:
	rm -rf build out

-include $(shell find build -name '*.d' 2>/dev/null)
