package slotlending.adapter;

import java.io.BufferedReader;
import java.io.BufferedWriter;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.OutputStreamWriter;
import java.nio.charset.StandardCharsets;

/** The adapter: speaks the port protocol (ports/PROTOCOL.md) on standard input and output. */
public final class Main {
    private Main() {}

    public static void main(String[] arguments) throws IOException {
        var port = new Protocol(System.getenv("SLOTLENDING_FAULT"));
        var input = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        var output = new BufferedWriter(new OutputStreamWriter(System.out, StandardCharsets.UTF_8));
        for (String line = input.readLine(); line != null; line = input.readLine()) {
            output.write(port.answer(line));
            output.write('\n');
            output.flush();
        }
    }
}
