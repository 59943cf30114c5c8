/* pi: in pi_task_construct, stores might persist out of order before flushed. Two workers take what was constructed. */
#include "pmdk.h"

struct task {
  uint64_t start, stop;
  LINE uint64_t done;
};

static struct task *tasks;

static void pi_task_construct(struct task *task, uint64_t start, uint64_t stop) {
  task->start = start;
  DURABLE(task->start);
  task->stop = stop; //~ lost
  DURABLE(task->stop);
  task->done = 1; //~ kept
  DURABLE(task->done);
  lf_persist(task, sizeof *task);
}

static void *first(void *argument) {
  pi_task_construct(&tasks[0], 1, 10);
  return argument;
}

static void *second(void *argument) {
  pi_task_construct(&tasks[1], 10, 20);
  return argument;
}

int main(void) {
  tasks = lf_pm(2 * sizeof *tasks);
  if (lf_failures() > 0) {
    for (int i = 0; i < 2; i++) {
      SEE(tasks[i].start);
      SEE(tasks[i].stop);
      SEE(tasks[i].done);
    }
    return 0;
  }
  pthread_t a, b;
  pthread_create(&a, NULL, first, NULL);
  pthread_create(&b, NULL, second, NULL);
  pthread_join(a, NULL);
  pthread_join(b, NULL);
  return 0;
}
