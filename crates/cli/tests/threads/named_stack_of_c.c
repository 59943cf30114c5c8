// Variables on stacks have names: of main, of functions that have called others, parameters, and what has the same name in two
// functions, or in two threads, says whose it is.
// check: --time 60
// exit: 100
// finds: data-race data race on `parts[1].to`: thread 1 writes it
// finds: data-race data race on `main's sum`: thread 1 writes it
// finds: data-race data race on `work's sum in thread 1`: thread 1 writes it
// check: --time 60 -O2
// exit: 100
// finds: data-race data race on `main's sum`: thread 1 writes it

#include <pthread.h>

struct part {
    int from, to;
    int *sum;
};

static void *add(void *argument) {
    int *sum = argument;
    *sum += 1;
    return 0;
}

static void *work(void *argument) {
    struct part *part = argument;
    part[1].to = 1;
    *part->sum = part->from;
    int sum = 0;
    pthread_t other;
    pthread_create(&other, 0, add, &sum);
    sum++;
    pthread_join(other, 0);
    return 0;
}

static int both(struct part *parts) {
    pthread_t threads[2];
    for (int i = 0; i < 2; i++)
        pthread_create(&threads[i], 0, work, parts);
    for (int i = 0; i < 2; i++)
        pthread_join(threads[i], 0);
    return parts->from;
}

int main(void) {
    int sum = 0;
    struct part parts[2] = {{0, 1, &sum}, {1, 2, &sum}};
    return both(parts);
}
