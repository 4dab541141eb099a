import java.util.concurrent.ExecutionException;

/**
 * How a call ended, as one line of output.
 *
 * Kafka acknowledges a change when its controller has it; what the broker then tells of it follows
 * a moment later. So a call that reads what was just changed is made until it is told as expected,
 * or for as long as `SETTLED_WITHIN_MS`, and then stands as it is.
 */
final class Outcome {
    /** A call; what it returns is told if it is text or a number. */
    interface Call {
        Object make() throws Exception;
    }

    private static final long SETTLED_WITHIN_MS = 15_000;
    private static final long PAUSE_MS = 50;

    private Outcome() {
    }

    static void tell(String name, Call call) {
        System.out.println(name + "\t" + of(call));
    }

    static void tellSettled(String name, String expected, Call call) {
        long deadline = System.nanoTime() + SETTLED_WITHIN_MS * 1_000_000L;
        String outcome = of(call);
        while (!outcome.equals(expected) && System.nanoTime() < deadline) {
            try {
                Thread.sleep(PAUSE_MS);
            } catch (InterruptedException e) {
                throw new IllegalStateException(e);
            }
            outcome = of(call);
        }
        System.out.println(name + "\t" + outcome);
    }

    private static String of(Call call) {
        try {
            Object told = call.make();
            boolean isPlain = told instanceof String || told instanceof Number;
            return isPlain ? "ok " + told : "ok";
        } catch (ExecutionException e) {
            return e.getCause().getClass().getSimpleName();
        } catch (Exception e) {
            return e.getClass().getSimpleName();
        }
    }
}
