/* run: --processor 1 */
int main(void) { for (;;) __asm__ volatile(""); }
