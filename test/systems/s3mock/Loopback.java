/** Starts S3Mock with every one of its connectors on 127.0.0.1; by itself it opens one on all interfaces. */
import com.adobe.testing.s3mock.S3MockApplication;
import org.springframework.boot.SpringApplication;
import org.springframework.boot.web.embedded.tomcat.TomcatServletWebServerFactory;
import org.springframework.boot.web.server.WebServerFactoryCustomizer;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;

@Configuration
public class Loopback {
  private static final String ADDRESS = "127.0.0.1";

  @Bean
  WebServerFactoryCustomizer<TomcatServletWebServerFactory> connectorsOnLoopback() {
    return factory -> {
      factory.getAdditionalTomcatConnectors().forEach(connector -> connector.setProperty("address", ADDRESS));
    };
  }

  public static void main(String[] args) {
    SpringApplication.run(new Class<?>[] {S3MockApplication.class, Loopback.class}, args);
  }
}
