/* A library of somebody else's: two stores whose order nothing keeps, a look at both that takes any of them, and flushes of what nobody
   stored. */
void pmem_flush(const volatile void *address, unsigned long length);

static volatile long begun;

void begin(volatile long *memory) {
  memory[0] = 1;
  memory[8] = 1;
  pmem_flush(memory + 64, 8);
  pmem_flush(memory + 64, 8);
  begun++;
}

long look(volatile long *memory) { return memory[8] + memory[0]; }
