// Nobody joins the threads: main ends the process, and what they do then they could have done before.
// executions: 2: 2, 3: 6, 5: 120
// put together
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
static atomic_int x;
static void *add(void *i) { atomic_fetch_add(&x, 1); return 0; }
int main(int count, char **arguments) {
    int n = atoi(arguments[1]);
    pthread_t threads[8];
    for (int i = 0; i < n; i++) pthread_create(&threads[i], 0, add, 0);
    return 0;
}
