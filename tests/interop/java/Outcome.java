import java.util.concurrent.ExecutionException;

/** How a call ended, as one line of output. */
final class Outcome {
    /** A call; what it returns is told if it is text or a number. */
    interface Call {
        Object make() throws Exception;
    }

    private Outcome() {
    }

    static void tell(String name, Call call) {
        String outcome;
        try {
            Object told = call.make();
            boolean isPlain = told instanceof String || told instanceof Number;
            outcome = isPlain ? "ok " + told : "ok";
        } catch (ExecutionException e) {
            outcome = e.getCause().getClass().getSimpleName();
        } catch (Exception e) {
            outcome = e.getClass().getSimpleName();
        }
        System.out.println(name + "\t" + outcome);
    }
}
