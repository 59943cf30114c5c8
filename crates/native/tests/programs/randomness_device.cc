#include <cstdio>
#include <random>
int main() { std::random_device d; std::printf("%u %u\n", d(), d()); }
