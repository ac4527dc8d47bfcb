/* test_machine_code.c: the machine code that nvcc made for the program (kernels/cubins beside its objects) has the
 * instruction of tensor cores in attention's kernels of bf16, and neither a stack frame nor spills there. Controls are
 * kernels of f32, and two that spill (tests/cuda/machine_code.cu). Without nvcc the test is skipped with a message.
 *
 * An instruction has 128 bits, its opcode in the low 12. NVIDIA documents no opcodes; those here are the ones that
 * ptxas 13.0 makes of kernels with and without the instruction, and the controls below check this. Stack frames:
 * records of section .nv.info, (4, 0x11, 8 as u16, symbol u32, bytes u32).
 */
#include "tests/lib/test.h"

#include <elf.h>
#include <glob.h>

#include "tests/lib/scratch.h"

enum { HMMA = 0x23c, HGMMA = 0x9f0, FFMA = 0x223, LDL = 0x983, STL = 0x387, OPCODES = 1 << 12 };
enum { BYTES = 16, FRAME_SIZE = 0x11 };

typedef struct {
    unsigned char *bytes;
    size_t n;
    const Elf64_Shdr *section;
    size_t sections;
    const char *names;
} Cubin;

/* Machine code of a kernel; E: of the template, 0 for others. */
typedef struct {
    const char *name;
    size_t count[OPCODES], frame;
    int E;
} Code;

/* Finds the files of a pattern in $TROTTER's folder. */
static glob_t cubins(const char *pattern)
{
    char path[4096];
    const char *trotter = getenv("TROTTER"), *slash = trotter ? strrchr(trotter, '/') : NULL;
    glob_t found;
    snprintf(path, sizeof path, "%.*s/%s", slash ? (int)(slash - trotter) : 1,
             slash ? trotter : ".", pattern);
    if (glob(path, 0, NULL, &found) != 0) {
        print_message("# SKIP %s is not there: no nvcc when tests were built\n", path);
        skip();
    }
    return found;
}

static Cubin cubin_read(const char *path)
{
    Cubin c = {0};
    c.bytes = (unsigned char *)path_slurp(path, &c.n);
    assert_non_null(c.bytes);
    const Elf64_Ehdr *head = (const void *)c.bytes;
    assert_true(c.n > sizeof *head && memcmp(head->e_ident, ELFMAG, SELFMAG) == 0);
    c.section = (const void *)(c.bytes + head->e_shoff);
    c.sections = head->e_shnum;
    assert_true(head->e_shoff + c.sections * sizeof *c.section <= c.n);
    c.names = (const char *)c.bytes + c.section[head->e_shstrndx].sh_offset;
    return c;
}

static const Elf64_Shdr *section_of(const Cubin *c, const char *name)
{
    for (size_t i = 0; i < c->sections; i++)
        if (strcmp(c->names + c->section[i].sh_name, name) == 0) return c->section + i;
    return NULL;
}

/* Returns the bytes of the frame that .nv.info records for a symbol. */
static size_t frame_of(const Cubin *c, uint32_t symbol)
{
    const Elf64_Shdr *info = section_of(c, ".nv.info");
    const unsigned char *p, *end;
    size_t found = 0, frame = 0;
    assert_non_null(info);
    p = c->bytes + info->sh_offset, end = p + info->sh_size;
    while (p + 4 <= end) {
        uint16_t size;
        uint32_t word[2];
        memcpy(&size, p + 2, sizeof size);
        if (p[0] == 4 && p[1] == FRAME_SIZE) {
            memcpy(word, p + 4, sizeof word);
            if (word[0] == symbol) found++, frame = word[1];
        }
        p += 4 + (p[0] == 4 ? size : 0);
    }
    assert_int_equal(found, 1);
    return frame;
}

/* Reads kernel number k of the file; 0: there are no more. */
static int code_of(const Cubin *c, size_t k, Code *code)
{
    static const char text[] = ".text.";
    const Elf64_Shdr *table = section_of(c, ".symtab");
    assert_non_null(table);
    for (size_t i = 0; i < c->sections; i++) {
        const Elf64_Shdr *s = c->section + i;
        const char *name = c->names + s->sh_name, *E;
        if (strncmp(name, text, strlen(text)) != 0 || k-- > 0) continue;
        *code = (Code){.name = name + strlen(text)};
        E = strstr(code->name, "ILi");
        code->E = E && strstr(code->name, "matrix") ? atoi(E + 3) : 0;
        for (size_t at = 0; at + BYTES <= s->sh_size; at += BYTES) {
            uint64_t word;
            memcpy(&word, c->bytes + s->sh_offset + at, sizeof word);
            code->count[word % OPCODES]++;
        }
        const Elf64_Sym *symbol = (const void *)(c->bytes + table->sh_offset);
        for (size_t j = 0; j < table->sh_size / sizeof *symbol; j++)
            if (ELF64_ST_TYPE(symbol[j].st_info) == STT_FUNC && symbol[j].st_shndx == i)
                code->frame = frame_of(c, (uint32_t)j);
        return 1;
    }
    return 0;
}

static int on_tensor_cores(const Code *c)
{
    return c->count[HMMA] + c->count[HGMMA] > 0;
}

static int leaves_registers(const Code *c)
{
    return c->frame > 0 || c->count[LDL] > 0 || c->count[STL] > 0;
}

static int of_attention(const Code *c)
{
    return strstr(c->name, "6attend") || strstr(c->name, "19attend_columns_back") ||
           strstr(c->name, "16attend_rows_back");
}

TEST(attention_is_on_tensor_cores)
{
    glob_t file = cubins("kernels/cubins/*.cubin");
    for (size_t a = 0; a < file.gl_pathc; a++) {
        Cubin cubin = cubin_read(file.gl_pathv[a]);
        size_t kernels = 0, plain = 0;
        Code c;
        for (size_t k = 0; code_of(&cubin, k, &c); k++) {
            if (c.E == 0 && of_attention(&c)) {
                plain++;
                assert_false(on_tensor_cores(&c));
                assert_in_range(c.count[FFMA], 1, SIZE_MAX);
            }
            if (c.E == 0) continue;
            kernels++;
            if (!on_tensor_cores(&c)) fail_msg("%s: %s has no HMMA", file.gl_pathv[a], c.name);
            if (leaves_registers(&c))
                fail_msg("%s: %s has a frame of %zu bytes, %zu LDL, %zu STL", file.gl_pathv[a],
                         c.name, c.frame, c.count[LDL], c.count[STL]);
        }
        /* E 32, 64, 128: forward of 16, 32, 64 rows; backward of one tile of each (128: two), of many, and its rows; of f32
         * and of bf16 */
        assert_int_equal(kernels, 2 * (9 + 8 + 3 + 3));
        assert_int_equal(plain, 2 + 3 + 2); /* attend, columns, rows: f32 */
    }
    globfree(&file);
}

/* Frames and spills are seen. */
TEST(spoiled_kernels_are_seen)
{
    glob_t file = cubins("tests/cuda/machine_code.*.cubin");
    for (size_t a = 0; a < file.gl_pathc; a++) {
        Cubin cubin = cubin_read(file.gl_pathv[a]);
        size_t spoiled = 0;
        Code c;
        for (; code_of(&cubin, spoiled, &c); spoiled++) {
            assert_true(leaves_registers(&c) && c.frame > 0);
            assert_true(c.count[LDL] > 0 && c.count[STL] > 0);
            assert_false(on_tensor_cores(&c));
        }
        assert_int_equal(spoiled, 2);
    }
    globfree(&file);
}

TEST_MAIN(NULL, NULL)
