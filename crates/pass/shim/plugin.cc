// Registers the pass with clang. Everything that decides what to instrument is in Rust (src/).
#include <cstdlib>
#include <llvm/IR/InstIterator.h>
#include <llvm/IR/Instructions.h>
#include <llvm/IR/Module.h>
#include <llvm/IR/PassManager.h>
#include <llvm/Passes/PassBuilder.h>
#include <llvm/Passes/PassPlugin.h>
#include <llvm/Transforms/IPO/AlwaysInliner.h>
#include <llvm/Transforms/Utils/Mem2Reg.h>
#include <llvm/Transforms/Utils/PromoteMemToReg.h>

using namespace llvm;

extern "C" bool landfall_instrument_module(LLVMModuleRef module, bool optimised_later);
extern "C" bool landfall_replace_functions(LLVMModuleRef module);

namespace {

struct InstrumentPass : PassInfoMixin<InstrumentPass> {
  // Will the optimiser still have its way with what is instrumented?
  bool optimised_later;
  explicit InstrumentPass(bool optimised_later) : optimised_later(optimised_later) {}
  PreservedAnalyses run(Module &module, ModuleAnalysisManager &) {
    return landfall_instrument_module(wrap(&module), optimised_later) ? PreservedAnalyses::none()
                                                                      : PreservedAnalyses::all();
  }
  // Also at -O0 and in functions marked optnone.
  static bool isRequired() { return true; }
};

// Before anything is inlined.
struct ReplacePass : PassInfoMixin<ReplacePass> {
  PreservedAnalyses run(Module &module, ModuleAnalysisManager &) {
    return landfall_replace_functions(wrap(&module)) ? PreservedAnalyses::none() : PreservedAnalyses::all();
  }
  static bool isRequired() { return true; }
};

// The members of std::atomic are one access each: inlined, it carries the line that asked for it.
struct InlineAtomicsPass : PassInfoMixin<InlineAtomicsPass> {
  PreservedAnalyses run(Module &module, ModuleAnalysisManager &) {
    for (Function &function : module)
      if (!function.isDeclaration() && function.hasLinkOnceLinkage() && is_atomic(function.getName())) {
        function.removeFnAttr(Attribute::NoInline);
        function.removeFnAttr(Attribute::OptimizeNone);
        function.addFnAttr(Attribute::AlwaysInline);
      }
    return PreservedAnalyses::none();
  }
  static bool isRequired() { return true; }

  static bool is_atomic(StringRef name) {
    if (!name.starts_with("_ZN") && !name.starts_with("_ZSt"))
      return false;
    for (const char *part : {"6atomicI", "10atomic_refI", "11atomic_flag", "13__atomic_base", "13__atomic_impl",
                             "14__atomic_float", "12__atomic_ref", "__cxx_atomic_", "atomic_thread_fence",
                             "12atomic_store", "11atomic_load"})
      if (name.contains(part))
        return true;
    return false;
  }
};

// Nothing is optimised at -O0, and a sequentially consistent store to a local variable is an xchg: promoting the variable, which
// is done here for our own sake, must not lose that.
struct KeepExchangesPass : PassInfoMixin<KeepExchangesPass> {
  PreservedAnalyses run(Module &module, ModuleAnalysisManager &) {
    for (Function &function : module)
      for (Instruction &instruction : instructions(function)) {
        auto *store = dyn_cast<StoreInst>(&instruction);
        if (!store || store->getOrdering() != AtomicOrdering::SequentiallyConsistent)
          continue;
        auto *local = dyn_cast<AllocaInst>(store->getPointerOperand());
        if (local && isAllocaPromotable(local))
          store->setVolatile(true);
      }
    return PreservedAnalyses::none();
  }
  static bool isRequired() { return true; }
};

// "As compiled" watches the accesses the optimiser left; the default watches those the source wrote.
bool as_compiled() {
  const char *mode = std::getenv("LANDFALL_AS_COMPILED");
  return mode && *mode && *mode != '0';
}

void register_callbacks(PassBuilder &builder) {
  if (as_compiled()) {
    builder.registerPipelineStartEPCallback(
        [](ModulePassManager &passes, OptimizationLevel) { passes.addPass(ReplacePass()); });
    builder.registerOptimizerLastEPCallback(
        [](ModulePassManager &passes, OptimizationLevel) { passes.addPass(InstrumentPass(false)); });
    return;
  }
  builder.registerPipelineStartEPCallback([](ModulePassManager &passes, OptimizationLevel level) {
    bool optimised_later = level != OptimizationLevel::O0;
    // Intrinsics such as _mm_clwb are always-inline functions of a header: inlined first, they
    // carry the position of their caller. Promoted locals are no memory accesses at all.
    passes.addPass(ReplacePass());
    passes.addPass(InlineAtomicsPass());
    passes.addPass(AlwaysInlinerPass());
    if (!optimised_later)
      passes.addPass(KeepExchangesPass());
    passes.addPass(createModuleToFunctionPassAdaptor(PromotePass()));
    passes.addPass(InstrumentPass(optimised_later));
  });
}

} // namespace

extern "C" LLVM_ATTRIBUTE_WEAK PassPluginLibraryInfo landfall_plugin_info() {
  return {LLVM_PLUGIN_API_VERSION, "landfall", "0.1.0", register_callbacks};
}
