/* A line of output, which is put together from its end. */

#include "kernel.h"

struct line {
    char text[96];
    char *begin;
};

static void prepend(struct line *line, const char *text) {
    const char *end = text;
    while (*end)
        end++;
    while (end > text)
        *--line->begin = *--end;
}

static void prepend_number(struct line *line, unsigned long number) {
    do
        *--line->begin = '0' + number % 10;
    while (number /= 10);
}

static void begin_line(struct line *line) {
    line->begin = line->text + sizeof line->text;
    prepend(line, "\n");
}

static void print(const struct line *line) {
    kernel(__NR_write, 1, (long)line->begin, line->text + sizeof line->text - line->begin, 0, 0, 0);
}
