#include <stdexcept>
#include <iostream>
#include <vector>
struct Noisy { Noisy() { std::cout << "made\n"; } ~Noisy() { std::cout << "gone\n"; } };
static Noisy global;
int main() { try { std::vector<int> v; v.at(3); } catch (std::out_of_range &) { std::cout << "caught" << std::endl; } return 5; }
