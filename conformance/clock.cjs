// Preloaded into a program, moves its clock by CLOCK_SHIFT seconds: a session of last month in a moment.
const shift = 1000 * Number(process.env.CLOCK_SHIFT ?? 0);
if (shift) {
  const Real = Date;
  globalThis.Date = class Date extends Real {
    constructor(...args) {
      if (args.length === 0) super(Real.now() + shift);
      else super(...args);
    }
    static now() {
      return Real.now() + shift;
    }
  };
}
