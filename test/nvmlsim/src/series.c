/* Numbers over time: their syntax, their value at a time and their integral up to a time. */
#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sim.h"

static const double two_pi = 6.283185307179586;

/* A reproducible number in [-1, 1] for a step: noise must not differ between two reads of the same moment. */
static double hashed(double step)
{
    uint64_t x = (uint64_t)(int64_t)step;
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
    x ^= x >> 31;
    return (double)(x >> 11) / 4503599627370496.0 - 1.0;
}

static double term_at(const struct series *s, double t)
{
    switch (s->kind) {
    case S_CONST:
        return s->a;
    case S_RAMP: { /* from, to, duration, delay */
        double x = s->c > 0 ? (t - s->d) / s->c : 1;
        return s->a + (s->b - s->a) * (x < 0 ? 0 : x > 1 ? 1 : x);
    }
    case S_SINE: /* mean, amplitude, period, phase */
        return s->a + s->b * sin(two_pi * (t / s->c + s->d));
    case S_SQUARE: { /* low, high, period, duty, phase: high first */
        double x = t / s->c + s->e;
        return x - floor(x) < s->d ? s->b : s->a;
    }
    case S_STEPS: {
        double v = s->steps[1];
        for (unsigned i = 0; i < s->nsteps && s->steps[2 * i] <= t; i++)
            v = s->steps[2 * i + 1];
        return v;
    }
    case S_COUNTER: { /* start, rate, wrap, reset */
        double v = s->d > 0 && t >= s->d ? s->b * (t - s->d) : s->a + s->b * t;
        return s->c > 0 ? fmod(v, s->c) : v;
    }
    case S_NOISE: /* mean, amplitude, step */
        return s->a + s->b * hashed(floor(t / s->c));
    case S_RAW:
        return (double)s->raw;
    default:
        return 0;
    }
}

double series_at(const struct series *s, double t)
{
    double v = term_at(s, t);
    for (s = s->plus; s; s = s->plus)
        v += term_at(s, t);
    return v;
}

static double term_integral(const struct series *s, double t)
{
    switch (s->kind) {
    case S_RAMP: {
        double before = s->d < t ? s->d : t;
        double during = t - before < s->c ? t - before : s->c;
        double after = t - before - during;
        double reached = s->c > 0 ? s->a + (s->b - s->a) * during / s->c : s->b;
        return s->a * before + (s->a + reached) / 2 * during + s->b * after;
    }
    case S_SINE:
        return s->a * t + s->b * s->c / two_pi * (cos(two_pi * s->d) - cos(two_pi * (t / s->c + s->d)));
    case S_SQUARE: { /* the part of [0, t] that is high, counted in whole periods from the phase on */
        double from = s->e, to = t / s->c + s->e;
        double part_from = fmin(from - floor(from), s->d), part_to = fmin(to - floor(to), s->d);
        double high = ((floor(to) - floor(from)) * s->d + part_to - part_from) * s->c;
        return s->a * t + (s->b - s->a) * high;
    }
    case S_STEPS: {
        double sum = 0, since = 0, v = s->steps[1];
        for (unsigned i = 0; i < s->nsteps && s->steps[2 * i] <= t; i++) {
            if (s->steps[2 * i] > since) {
                sum += v * (s->steps[2 * i] - since);
                since = s->steps[2 * i];
            }
            v = s->steps[2 * i + 1];
        }
        return sum + v * (t - since);
    }
    case S_COUNTER:
        return s->a * t + s->b * t * t / 2;
    default: /* constant; noise averages out */
        return s->a * t;
    }
}

double series_integral(const struct series *s, double t)
{
    double v = term_integral(s, t);
    for (s = s->plus; s; s = s->plus)
        v += term_integral(s, t);
    return v;
}

bool series_constant(const struct series *s)
{
    for (; s; s = s->plus)
        if (s->kind != S_CONST && s->kind != S_RAW) return false;
    return true;
}

/* ---- syntax ---------------------------------------------------------------------------------------------------- */

static void skip_space(const char **p)
{
    while (isspace((unsigned char)**p))
        ++*p;
}

static bool parse_factor(const char **text, double *out)
{
    const char *p = *text;
    skip_space(&p);
    char *end;
    *out = strtod(p, &end);
    if (end == p) return false;
    p = end;
    static const char letters[] = "KMGT";
    const char *unit = *p ? strchr(letters, *p) : NULL;
    if (unit) {
        bool binary = p[1] == 'i';
        for (const char *l = letters; l <= unit; l++)
            *out *= binary ? 1024 : 1000;
        p += binary ? 2 : 1;
    }
    skip_space(&p);
    *text = p;
    return true;
}

/* A number: 80Gi, 1.5K, 0x10, 3/8 or 2*40. */
bool parse_number(const char **text, double *out)
{
    if (!parse_factor(text, out)) return false;
    while (**text == '*' || **text == '/') {
        char op = *(*text)++;
        double right;
        if (!parse_factor(text, &right)) return false;
        *out = op == '*' ? *out * right : *out / right;
    }
    return true;
}

bool parse_duration(const char *text, double *seconds)
{
    char *end;
    *seconds = strtod(text, &end);
    if (end == text) return false;
    if (!strcmp(end, "us")) *seconds *= 1e-6;
    else if (!strcmp(end, "ms")) *seconds *= 1e-3;
    else if (*end && strcmp(end, "s")) return false;
    return *seconds >= 0;
}

/* The functions of time, with the names of their arguments in order; those from `required` on have defaults. */
static const struct shape {
    const char *name;
    enum series_kind kind;
    int required;
    const char *args[5];
    double defaults[5];
} shapes[] = {
    {"ramp", S_RAMP, 3, {"from", "to", "duration", "delay"}, {0}},
    {"sine", S_SINE, 3, {"mean", "amplitude", "period", "phase"}, {0}},
    {"square", S_SQUARE, 3, {"low", "high", "period", "duty", "phase"}, {0, 0, 0, 0.5, 0}},
    {"counter", S_COUNTER, 2, {"start", "rate", "wrap", "reset"}, {0}},
    {"noise", S_NOISE, 2, {"mean", "amplitude", "step"}, {0, 0, 1.0 / 6}},
};

static bool parse_arguments(const char **text, const struct shape *shape, struct series *out)
{
    double args[5];
    memcpy(args, shape->defaults, sizeof args);
    int given = 0;
    for (int position = 0; **text != ')'; position++) {
        skip_space(text);
        int i = position;
        const char *equals = *text;
        while (isalpha((unsigned char)*equals))
            equals++;
        if (*equals == '=') {
            for (i = 0; i < 5; i++)
                if (shape->args[i] && strlen(shape->args[i]) == (size_t)(equals - *text) &&
                    !strncmp(shape->args[i], *text, (size_t)(equals - *text)))
                    break;
            *text = equals + 1;
        }
        if (i >= 5 || !shape->args[i] || !parse_number(text, &args[i])) return false;
        given++;
        if (**text == ',') ++*text;
        else if (**text != ')') return false;
    }
    ++*text;
    *out = (struct series){.kind = shape->kind, .a = args[0], .b = args[1], .c = args[2], .d = args[3], .e = args[4]};
    bool periodic = shape->kind == S_SINE || shape->kind == S_SQUARE || shape->kind == S_NOISE;
    return given >= shape->required && (!periodic || out->c > 0);
}

static bool parse_steps(struct arena *arena, const char **text, struct series *out)
{
    double pairs[128];
    unsigned n = 0;
    while (n < 64) {
        if (!parse_number(text, &pairs[2 * n]) || *(*text)++ != ':' || !parse_number(text, &pairs[2 * n + 1])) return false;
        n++;
        if (**text == ')') break;
        if (*(*text)++ != ',') return false;
    }
    if (**text != ')') return false;
    ++*text;
    double *steps = arena_alloc(arena, 2 * n * sizeof *steps);
    memcpy(steps, pairs, 2 * n * sizeof *steps);
    *out = (struct series){.kind = S_STEPS, .nsteps = n, .steps = steps};
    return true;
}

static bool parse_term(struct arena *arena, const char **text, struct series *out)
{
    skip_space(text);
    const char *open = *text;
    while (isalpha((unsigned char)*open))
        open++;
    size_t length = (size_t)(open - *text);
    if (length == 0 || *open != '(') {
        *out = (struct series){.kind = S_CONST};
        return parse_number(text, &out->a);
    }
    for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++)
        if (strlen(shapes[i].name) == length && !strncmp(*text, shapes[i].name, length)) {
            *text = open + 1;
            return parse_arguments(text, &shapes[i], out);
        }
    if (length == 5 && !strncmp(*text, "steps", 5)) {
        *text = open + 1;
        return parse_steps(arena, text, out);
    }
    if (length == 3 && !strncmp(*text, "raw", 3)) {
        char *end;
        *out = (struct series){.kind = S_RAW, .raw = strtoull(open + 1, &end, 0)};
        *text = end + 1;
        return *end == ')';
    }
    return false;
}

bool series_parse(struct arena *arena, const char *text, struct series *out, char *err, size_t errlen)
{
    if (!strcmp(text, "unsupported")) {
        *out = (struct series){.kind = S_ERROR, .error = NVML_ERROR_NOT_SUPPORTED};
        return true;
    }
    if (!strcmp(text, "auto")) {
        *out = (struct series){.kind = S_AUTO};
        return true;
    }
    if (!strncmp(text, "error(", 6)) {
        char name[40];
        snprintf(name, sizeof name, "%.*s", (int)strcspn(text + 6, ")"), text + 6);
        *out = (struct series){.kind = S_ERROR};
        if (parse_return(name, &out->error)) return true;
        snprintf(err, errlen, "no such result: %s", name);
        return false;
    }
    const char *p = text;
    struct series *term = out;
    for (;;) {
        if (!parse_term(arena, &p, term)) break;
        skip_space(&p);
        if (*p == '\0') return true;
        if (*p++ != '+') break;
        struct series *next = arena_alloc(arena, sizeof *next);
        term->plus = next;
        term = next;
    }
    snprintf(err, errlen, "cannot read the value \"%s\" (near \"%s\")", text, p);
    return false;
}
